-- Takes an event from those that no hook has looked at, and keeps its deliveries.
--
-- KEYS[1] -> list of events
-- KEYS[2] -> hash of deliveries: id -> JSON
-- KEYS[3] -> sorted set of their ids by when they are due (ms)
-- ARGV[1] -> the event as it stands in the list
-- ARGV[2] -> when they are due
-- ARGV[3], [4], ... -> id, JSON of each delivery
-- returns how many were added; 0 where somebody else took the event
if redis.call('LREM', KEYS[1], 1, ARGV[1]) == 0 then
  return 0
end
local n = 0
for i = 3, #ARGV, 2 do
  if redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[i + 1]) == 1 then
    redis.call('ZADD', KEYS[3], ARGV[2], ARGV[i])
    n = n + 1
  end
end
return n
