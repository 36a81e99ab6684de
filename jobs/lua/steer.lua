-- Writes a run's record unless it was changed since it was read.
--
-- KEYS[1] run hash
-- ARGV[1] record as it was read, ARGV[2] record to write, then fields and values to write with it
--
-- Returns one number: 1 when it was written, 0 when another was faster.
if redis.call('HGET', KEYS[1], 'record') ~= ARGV[1] then
  return {0}
end
redis.call('HSET', KEYS[1], 'record', ARGV[2])
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
return {1}
