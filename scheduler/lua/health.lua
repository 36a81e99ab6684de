-- health.lua: keeps what the monitor decided and saw.
--
-- KEYS 1 health hash
-- ARGV 1 fence of the writer, 2 state as JSON, 3 view as JSON, 4 for how many ms a
--   later leader's write counts
-- Returns 1; 0 when a later leader wrote lately, and nothing is changed. A later
-- one that is silent does not count: a failover may have set the fences back.
local x = redis.call('TIME')
local now = x[1] * 1000 + math.floor(x[2] / 1000)
local h = redis.call('HMGET', KEYS[1], 'fence', 'at')
local age = now - tonumber(h[2] or '0')
if tonumber(h[1] or '0') > tonumber(ARGV[1]) and age < tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'at', string.format('%d', now), 'state', ARGV[2], 'view', ARGV[3])
return 1
