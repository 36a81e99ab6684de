-- Records what a run is expected to need, unless it was removed meanwhile.
--
-- KEYS[1] run hash
-- ARGV[1] JSON of jobs.Planned
--
-- Returns 1, or 0 where there is no such run.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {0}
end
redis.call('HSET', KEYS[1], 'planned', ARGV[1])
return {1}
