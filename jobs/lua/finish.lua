-- Gives rows their end and stores their results, each once; counts for the run's
-- brake what became of them.
--
-- KEYS[1] counters, KEYS[2] order of ends, KEYS[3] run hash, KEYS[4] brake,
-- KEYS[5] good rows
-- ARGV[1] key prefix, then per row: index, generation, new state,
--   '1' if the result carries the row's fields, so that they need not be kept;
--   why it ended badly, or of a good one that it was taken over and says nothing of
--   the run ('' otherwise); key, id and time (16 bytes) by which other
--   runs find a good result ('': they do not); what the row waited (see waits.go);
--   SHA-1 of "row id NUL fields" as the result has them; how often it was attempted;
--   what its calls cost (micro-dollars); the result: new state (a byte) and line
--
-- Returns 1 or 0 per row, or the "row id NUL fields" that it has by now, where an
-- update has changed them: nothing was done, and the result is to carry these. Then
-- what the brake says once it has tripped ('' before), and 1 if it did so now. An open row ends by its own generation. A row that was
-- cancelled in flight (which raised its generation by one) takes a good result;
-- one that left the run keeps it for its return, without a state.
local prefix = ARGV[1]
local DONE, CACHED, TRUNCATED, EXPIRED, CANCELLED = 5, 6, 9, 10, 11
local out, delta, ends, goods, bytes, missed, attempts, paid = {}, {}, {}, {}, 0, 0, 0, 0

-- What the brake has counted: last, the last rows that ended, '1' for a bad one;
-- bad, how many of those; same, the rows for each cause since the last good one.
-- nil where the run has none.
local function brakeOf(halt)
  local same, ppm, of = string.match(halt or '', '^(%d+) (%d+) (%d+)$')
  if not same or same == '0' and of == '0' then
    return nil
  end
  local kept = redis.call('HMGET', KEYS[4], 'trip', 'last', 'same')
  local b = {most = tonumber(same), ppm = tonumber(ppm), of = tonumber(of), trip = kept[1], last = kept[2] or '', same = {}}
  for cause, n in string.gmatch(kept[3] or '', '([^\t\n]*)\t(%d+)\n') do
    b.same[cause] = tonumber(n)
  end
  local _, bad = string.gsub(b.last, '1', '')
  b.bad = bad
  return b
end

local conf = redis.call('HMGET', KEYS[3], 'halt', 'edited')
local brake = brakeOf(conf[1])

-- newer gives the row's fields where the result has older ones. Runs that no update
-- has given other fields are not looked through.
local function newer(n, sum)
  local kept = conf[2] and redis.call('HGET', prefix .. 'fld:' .. math.floor(n / 1024), n)
  return kept and redis.sha1hex(kept) ~= sum and kept
end

local function trip(rule, bad, of, n, cause)
  local t = redis.call('TIME')
  local ms = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
  brake.trip = string.format('%s %d %d %d %d ', rule, bad, of, n, ms) .. cause
  brake.now = true
end

local function remember(good)
  brake.last = brake.last .. (good and '0' or '1')
  brake.bad = brake.bad + (good and 0 or 1)
  if #brake.last > brake.of then
    brake.bad = brake.bad - tonumber(string.sub(brake.last, 1, 1))
    brake.last = string.sub(brake.last, 2)
  end
  brake.changed = true
end

-- An end counts until the brake has tripped. More bad rows than the share of a
-- full window are too many, whatever fills the rest of it.
local function count(n, good, cause)
  if brake.of > 0 then
    remember(good)
  end
  if good then
    brake.changed = brake.changed or next(brake.same) ~= nil
    brake.same = {}
    return
  end
  brake.changed = true
  brake.same[cause] = (brake.same[cause] or 0) + 1
  if brake.most > 0 and brake.same[cause] >= brake.most then
    trip('same', brake.same[cause], brake.same[cause], n, cause)
  elseif brake.of > 0 and brake.bad * 1000000 > brake.ppm * brake.of then
    trip('fail', brake.bad, #brake.last, n, cause)
  end
end

local function keepBrake()
  local same = ''
  for cause, n in pairs(brake.same) do
    same = same .. cause .. string.format('\t%d\n', n)
  end
  redis.call('HSET', KEYS[4], 'last', brake.last, 'same', same)
  if brake.trip then
    redis.call('HSET', KEYS[4], 'trip', brake.trip)
  end
end

local function pack4(n)
  return string.char(math.floor(n / 16777216) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
end

-- A row of generation 0 has had no result before.
local function store(bucket, n, gen, value)
  local key = prefix .. 'res:' .. bucket
  local old = gen > 0 and redis.call('HGET', key, n)
  redis.call('HSET', key, n, value)
  bytes = bytes + #value - (old and #old or 0)
end

local waits = {}
local function waited(n, text)
  redis.call('HDEL', prefix .. 'wait:' .. math.floor(n / 64), n)
  for code, ms in string.gmatch(text, '(%a)(%d+)') do
    waits[code] = (waits[code] or 0) + tonumber(ms)
  end
end

for i = 2, #ARGV, 11 do
  local n, gen, to = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local key, at = prefix .. 'row:' .. math.floor(n / 65536), (n % 65536) * 3
  local state, hi, lo = string.byte(redis.call('GETRANGE', key, at, at + 2), 1, 3)
  local good = to == DONE or to == CACHED
  local own = state and hi * 256 + lo == gen and state > 0 and state < DONE
  local late = state and good and hi * 256 + lo == gen + 1
  local bucket = math.floor(n / 1024)
  local ends_now = own or (late and state == CANCELLED)
  local fields = ends_now and newer(n, ARGV[i + 7])
  if fields then
    out[#out + 1] = fields
  elseif ends_now then
    redis.call('SETRANGE', key, at, string.char(to))
    store(bucket, n, gen, ARGV[i + 10])
    attempts = attempts + tonumber(ARGV[i + 8])
    paid = paid + tonumber(ARGV[i + 9])
    waited(n, ARGV[i + 6])
    if good and ARGV[i + 3] == '1' then
      redis.call('HDEL', prefix .. 'fld:' .. bucket, n)
    end
    delta[state] = (delta[state] or 0) - 1
    delta[to] = (delta[to] or 0) + 1
    ends[#ends + 1] = pack4(n)
    if ARGV[i + 5] ~= '' then
      goods[#goods + 1] = ARGV[i + 5] .. pack4(n)
    end
    out[#out + 1] = 1
    if to == EXPIRED and ARGV[i + 4] == 'deadline' then
      missed = missed + 1
    end
    if brake and not brake.trip and own and to <= TRUNCATED and not (good and ARGV[i + 4] ~= '') then
      count(n, good, ARGV[i + 4])
    end
  else
    if late and state == 0 then
      store(bucket, n, 1, ARGV[i + 10])
    end
    out[#out + 1] = 0
  end
end
if bytes ~= 0 then
  redis.call('HINCRBY', prefix .. 'run', 'bytes', string.format('%d', bytes))
end
if attempts > 0 then
  redis.call('HINCRBY', KEYS[3], 'attempts', attempts)
end
if paid > 0 then
  redis.call('HINCRBY', KEYS[3], 'paid', string.format('%d', paid))
end
if missed > 0 then
  redis.call('HINCRBY', KEYS[3], 'missed', missed)
end
if #ends > 0 then
  redis.call('APPEND', KEYS[2], table.concat(ends))
  redis.call('HSET', KEYS[3], 'ended', redis.call('TIME')[1])
end
if #goods > 0 then
  redis.call('APPEND', KEYS[5], table.concat(goods))
end
for state, by in pairs(delta) do
  if by ~= 0 then
    redis.call('HINCRBY', KEYS[1], state, by)
  end
end
for code, ms in pairs(waits) do
  redis.call('HINCRBY', prefix .. 'waits', code, string.format('%d', ms))
end
if brake and brake.changed then
  keepBrake()
end
out[#out + 1] = brake and brake.trip or ''
out[#out + 1] = brake and brake.now and 1 or 0
return out
