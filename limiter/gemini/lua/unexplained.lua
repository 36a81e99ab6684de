-- unexplained.lua: keeps an answer that nobody could explain, once for each shape.
--
-- KEYS[1] hash: shape -> "count firstMS lastMS|answer as JSON"; KEYS[2] sorted set of
--   the shapes by their last time
-- ARGV[1] now in ms ('' = Redis's TIME), ARGV[2] shape, ARGV[3] the answer as JSON
-- ARGV[4] how many shapes are kept, ARGV[5] for how many ms after the last
-- Returns the count. The shape that was silent longest makes room.
local call, format = redis.call, string.format

local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local t = call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end

local old = call('HGET', KEYS[1], ARGV[2])
local n, first = 0, now
if old then
  local count, began = string.match(old, '^(%d+) (%d+) ')
  n, first = tonumber(count), tonumber(began)
elseif call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  for _, silent in ipairs(call('ZRANGE', KEYS[2], 0, 0)) do
    call('HDEL', KEYS[1], silent)
    call('ZREM', KEYS[2], silent)
  end
end
call('HSET', KEYS[1], ARGV[2], format('%d %d %d|', n + 1, first, now) .. ARGV[3])
call('ZADD', KEYS[2], format('%d', now), ARGV[2])
call('PEXPIRE', KEYS[1], ARGV[5])
call('PEXPIRE', KEYS[2], ARGV[5])
return n + 1
