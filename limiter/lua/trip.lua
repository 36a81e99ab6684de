-- trip.lua: opens and closes breakers. Needs base.lua, breaker.lua and closing.lua.
--
-- KEYS 1 scope
-- ARGV[3] what:
--   trip   4 lane ('' = the project), 5 reason, 6 1 = certain, 7 until (ms, 0 = not
--          known), 8 not before, 9 most ms between looks, 10 permit, 11 hash of the
--          refused key, 12 who, 13 who may lift, 14 detail
--   close  4 lane, 5 since when the permit is that succeeded (0 = a person's word): closes
--          the lane's and the project's
--   again  4 lane, 5 1 = every lane: the next request looks
--   key    4 hash of a key that is in use, 5 how long ago a call that worked was sent, in ms (-1 = none)
--   list
-- Returns {0, now, code, then lane, record, 1 = its look is under way, by turns}.
--   code of trip: 0 nothing changed, 1 opened, 2 a look failed, 3 another key works, so
--   that nothing was closed; of key: 1 closed, 2 the next request looks; of the others
--   how many were changed
-- The hash keys (beside the scope) has "worked|refused" in ms by hash of a key.
local FRESH = 120000 -- ms
local OLD = 86400000 -- ms after which a key is forgotten
local UNSURE = {15000, 60000, 180000, 600000, 3600000}
local SURE = {60000, 180000, 600000, 1800000, 3600000}

M.breakers()
local t, what, out = M.clock(), ARGV[3], {}
local keys = M.prefix .. 'keys'

local function show(lane, b)
  out[#out + 1] = lane
  out[#out + 1] = call('HGET', KEYS[1], 'b:' .. lane)
  out[#out + 1] = M.looking(b, t) and 1 or 0
end

local function each(f)
  for name in string.gmatch(call('HGET', KEYS[1], 'brk') or '', '[^\n]+') do
    local lane = name == '*' and '' or name
    local b = M.broken(lane, t)
    if b then f(lane, b) end
  end
end

local function list(lane, there)
  local name, all = lane == '' and '*' or lane, ''
  for x in string.gmatch(call('HGET', KEYS[1], 'brk') or '', '[^\n]+') do
    if x ~= name then all = all .. x .. '\n' end
  end
  if there then all = all .. name .. '\n' end
  if all == '' then call('HDEL', KEYS[1], 'brk') else call('HSET', KEYS[1], 'brk', all) end
end

-- close needs the breaker as it was.
local function close(lane, b)
  note_closed(M.prefix, 'b:' .. lane, b.reason, t, 0)
  call('HDEL', KEYS[1], 'b:' .. lane)
  list(lane, false)
end

-- next_look is when one call looks: of what ends some time ten looks are spread over
-- the time, a minute to an hour apart; of all else they become rarer.
local function next_look(b, before)
  local steps = b[6] == 1 and SURE or UNSURE
  local wait = math.min(steps[math.min(b[4] + 1, #steps)], b[8])
  if b[6] == 1 and b[3] > t then wait = math.max(60000, math.min(3600000, floor((b[3] - b[1]) / 10))) end
  local at = t + wait
  if b[3] > t and at > b[3] then at = b[3] end
  b[2] = math.max(at, math.min(before, t + 86400000))
end

-- known gives when a key worked last and was refused last.
local function known(hash)
  local worked, refused = string.match(call('HGET', keys, hash) or '', '^(%d+)|(%d+)$')
  return math.min(t, tonumber(worked or 0)), math.min(t, tonumber(refused or 0))
end

local function know(hash, worked, refused)
  call('HSET', keys, hash, format('%d|%d', worked, refused))
end

-- another tells whether some other key worked lately, and forgets old ones.
local function another(hash)
  local all, works = call('HGETALL', keys), false
  for i = 1, #all, 2 do
    local worked, refused = known(all[i])
    if t - worked > OLD and t - refused > OLD then call('HDEL', keys, all[i]) end
    if all[i] ~= hash and worked > refused and t - worked <= FRESH then works = true end
  end
  return works
end

local function trip()
  local lane, reason, certain, till, before = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
  if ARGV[11] ~= '' then
    know(ARGV[11], (known(ARGV[11])), t)
    if another(ARGV[11]) then return 3 end
  end
  if till <= t then till = 0 end
  local b, code = M.broken(lane, t), 1
  if b then
    local more = certain > b[6] or certain == b[6] and certain == 1 and b.reason ~= reason and b[3] > 0 and (till == 0 or till > b[3])
    if ARGV[10] ~= '' and b.probe == ARGV[10] then
      code = b.reason == reason and b[6] == certain and 2 or 1
      b[4] = code == 2 and b[4] + 1 or 0
    elseif more then
      b[4] = 0
    else
      show(lane, b)
      return 0
    end
    if b.reason ~= reason then
      b[1] = t
      note_closed(M.prefix, 'b:' .. lane, b.reason, t, 0)
    end
  else
    b = {t, 0, 0, 0, 0, 0, 0, 0, probe = '', lane = ''}
    list(lane, true)
  end
  b[3], b[6], b[7], b[8] = till, certain, 0, tonumber(ARGV[9])
  b.reason, b.probe, b.owner, b.lift, b.detail = reason, '', ARGV[12], ARGV[13], ARGV[14]
  next_look(b, before)
  M.put_breaker(lane, b)
  note_closed(M.prefix, 'b:' .. lane, reason, t, -1)
  show(lane, b)
  return code
end

local function closes()
  local n, granted = 0, tonumber(ARGV[5])
  for _, lane in ipairs({'', ARGV[4]}) do
    local b = M.broken(lane, t)
    if b and (granted == 0 or b[1] <= granted) then
      show(lane, b)
      close(lane, b)
      n = n + 1
    end
  end
  return n
end

local function again()
  local n = 0
  each(function(lane, b)
    if b[2] > t and (ARGV[5] == '1' or lane == '' or lane == ARGV[4]) then
      b[2], n = t, n + 1
      M.put_breaker(lane, b)
      show(lane, b)
    end
  end)
  return n
end

-- key tells what is known of a key that is in use: a breaker for refused keys closes
-- when another key than the refused one worked lately, and is looked at when this one was never tried.
local function key()
  local worked, refused = known(ARGV[4])
  local ago = tonumber(ARGV[5])
  if ago >= 0 then
    worked = math.max(worked, t - ago)
    know(ARGV[4], worked, refused)
  end
  local b = M.broken('', t)
  if not b or b.reason ~= 'credentials' then return 0 end
  if worked > refused and t - worked <= FRESH then
    show('', b)
    close('', b)
    return 1
  end
  if refused < b[1] and worked >= refused and b[2] > t then
    b[2] = t
    M.put_breaker('', b)
    show('', b)
    return 2
  end
  return 0
end

local code
if what == 'list' then
  each(show)
  code = #out / 3
else
  code = ({trip = trip, close = closes, again = again, key = key})[what]()
end
local answer = {0, t, code}
for i = 1, #out do answer[3 + i] = out[i] end
return answer
