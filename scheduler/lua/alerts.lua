-- alerts.lua: keeps what is known of alerts, and what hooks are to be told of them, at
-- once: whoever leads next neither repeats nor loses any.
--
-- KEYS 1 alerts hash, 2 list of the events that no hook has looked at yet
-- ARGV 1 fence of the writer, 2 for how many ms a later leader's write counts,
--   3 most events in the list, 4 the book as JSON, 5... events as JSON
-- Returns 1; 0 when a later leader wrote lately, and nothing is changed.
local x = redis.call('TIME')
local now = x[1] * 1000 + math.floor(x[2] / 1000)
local h = redis.call('HMGET', KEYS[1], 'fence', 'at')
local age = now - tonumber(h[2] or '0')
if tonumber(h[1] or '0') > tonumber(ARGV[1]) and age < tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'at', string.format('%d', now), 'book', ARGV[4])
for i = 5, #ARGV do
  redis.call('RPUSH', KEYS[2], ARGV[i])
end
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[3]), -1)
return 1
