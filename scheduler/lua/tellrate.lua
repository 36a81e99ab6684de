-- Notes what a run's window lets it have, once of all who see the change.
--
-- KEYS[1] -> hash: run -> the rate that was told last
-- ARGV[1] -> the run
-- ARGV[2] -> the rate that it has now
-- ARGV[3] -> the rate before, as far as the caller knows, where the hash has none
-- returns 1 for the first, 0 where it was told
if (redis.call('HGET', KEYS[1], ARGV[1]) or ARGV[3]) == ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
