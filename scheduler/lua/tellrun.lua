-- Keeps an event of a run for the hooks, once.
--
-- KEYS[1] -> the mark that it was told
-- KEYS[2] -> list of the events that no hook has looked at yet
-- ARGV[1] -> the event (JSON)
-- ARGV[2] -> how long the mark is kept, in ms
-- ARGV[3] -> most events in the list: without anybody who takes them, the oldest go
-- returns 1, or 0 where it was told before
if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[2]) then
  return 0
end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[3]), -1)
return 1
