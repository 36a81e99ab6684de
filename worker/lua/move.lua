-- Moves tasks from a queue's retry set to the front of its pending list, as
-- asynq's forwarder would move them to its back (rdb.go, forwardCmd). They are
-- marked as pulled, which asynq does not look at and park.lua does.
--
-- KEYS[1] asynq:{queue}:retry
-- KEYS[2] asynq:{queue}:pending
-- ARGV[1] task key prefix, asynq:{queue}:t:
-- ARGV[2] now, Unix nanoseconds, for pending_since
-- ARGV[3…] task ids; the first is to run first
--
-- Returns the ids that were not in the retry set: still with their worker, or
-- back by their own time, or gone.
local left = {}
for i = #ARGV, 3, -1 do
  local id = ARGV[i]
  if redis.call("ZREM", KEYS[1], id) == 1 then
    redis.call("RPUSH", KEYS[2], id)
    redis.call("HSET", ARGV[1] .. id, "state", "pending", "pending_since", ARGV[2], "pulled", "1")
  else
    left[#left + 1] = id
  end
end
return left
