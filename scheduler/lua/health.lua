-- health.lua: keeps what the monitor decided and saw.
--
-- KEYS 1 health hash
-- ARGV 1 fence of the writer, 2 state as JSON, 3 view as JSON
-- Returns 1; 0 when a later leader has written, and nothing is changed.
if tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'state', ARGV[2], 'view', ARGV[3])
return 1
