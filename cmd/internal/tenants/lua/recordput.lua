-- recordput.lua: changes a field if it still is what somebody read.
--
-- KEYS[1] hash
-- ARGV[1] field, ARGV[2] what it was ('' for nothing), ARGV[3] what it becomes ('' for nothing)
-- Returns 1, or 0 when it was something else
local was = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if was ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
