-- note.lua: notes an event.
--
-- KEYS 1 events (a stream; an entry's id begins with its moment in ms)
-- ARGV 1 now in ms ('' = Redis's TIME), 2 about how many are kept, 3.. fields and
--   values by turns
-- Returns the entry's id. An event is never before the last one, as with XADD's '*'.
local t = tonumber(ARGV[1])
if not t then
  local x = redis.call('TIME')
  t = x[1] * 1000 + math.floor(x[2] / 1000)
end
local seq, last = 0, redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last then
  local ms, n = string.match(last[1], '^(%d+)-(%d+)$')
  if tonumber(ms) >= t then t, seq = tonumber(ms), tonumber(n) + 1 end
end
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], string.format('%d-%d', t, seq), unpack(ARGV, 3))
