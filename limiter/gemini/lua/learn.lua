-- learn.lua: adds what one process learned to what all know, and gives that.
--
-- KEYS[1] hash: pair -> lesson; KEYS[2] sorted set of the pairs by their last change in ms
-- ARGV[1] now in ms ('' = Redis's TIME), ARGV[2] pairs kept, ARGV[3] ms that a pair is kept unchanged
-- ARGV[4] numbers of a lesson before its outputs, ARGV[5] pairs n
-- then n x (pair, what is left of the old in millionths, lesson as lesson.pack writes it or '' to ask only)
-- Returns for each pair its lesson, '' for none
local call, floor, format = redis.call, math.floor, string.format

local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local t = call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
end
local most, kept, head = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- pack writes integers; %d because '..' turns 3e14 into "3e+14" on real Redis.
local function pack(t)
  local text = {}
  for i = 1, #t do text[i] = format('%d', floor(t[i] + 0.5)) end
  return '[' .. table.concat(text, ',') .. ']'
end

-- follow puts what is new behind the old: the first two numbers are added up, the
-- rest of the old fades. Outputs are (bucket, weight); light ones are dropped.
local function follow(old, new, left)
  local out, weights, order = {}, {}, {}
  for i = 1, head do out[i] = (i > 2 and old[i] * left or old[i]) + new[i] end
  local function put(t, by)
    for i = head + 1, #t, 2 do
      if not weights[t[i]] then order[#order + 1] = t[i] end
      weights[t[i]] = (weights[t[i]] or 0) + t[i + 1] * by
    end
  end
  put(old, left)
  put(new, 1)
  for _, b in ipairs(order) do
    if weights[b] >= 1000 then
      out[#out + 1], out[#out + 2] = b, weights[b]
    end
  end
  return out
end

local function drop(pair)
  call('HDEL', KEYS[1], pair)
  call('ZREM', KEYS[2], pair)
end

local answer = {}
for i = 1, tonumber(ARGV[5]) do
  local p = 5 + (i - 1) * 3
  local pair, left, text = ARGV[p + 1], tonumber(ARGV[p + 2]) / 1000000, ARGV[p + 3]
  local known = call('HGET', KEYS[1], pair)
  if text ~= '' then
    if known then text = pack(follow(cjson.decode(known), cjson.decode(text), left)) end
    call('HSET', KEYS[1], pair, text)
    call('ZADD', KEYS[2], format('%d', now), pair)
    known = text
  end
  answer[i] = known or ''
end

local old = call('ZRANGEBYSCORE', KEYS[2], '-inf', format('%d', now - kept), 'LIMIT', 0, 100)
for _, pair in ipairs(old) do drop(pair) end
local over = call('ZCARD', KEYS[2]) - most
if over > 0 then
  old = call('ZRANGE', KEYS[2], 0, over - 1)
  for _, pair in ipairs(old) do drop(pair) end
end
for i = 1, 2 do call('PEXPIRE', KEYS[i], format('%d', kept)) end
return answer
