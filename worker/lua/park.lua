-- Takes new tasks from the front of a queue's pending list to its retry set,
-- many at a time, as asynq's own retry would one at a time (rdb.go, retryCmd).
-- What a pull let go is left where it is: it has its turn.
--
-- KEYS[1] asynq:{queue}:pending
-- KEYS[2] asynq:{queue}:retry
-- KEYS[3] asynq:{queue}:paused
-- ARGV[1] task key prefix, asynq:{queue}:t:
-- ARGV[2] how many to take
-- ARGV[3] how deep to look
-- ARGV[4] when they come back by themselves, Unix seconds
--
-- Returns the ids, the first in line first. None of a paused queue.
local taken = {}
if redis.call("EXISTS", KEYS[3]) == 1 then return taken end
local ids = redis.call("LRANGE", KEYS[1], -tonumber(ARGV[3]), -1)
for i = #ids, 1, -1 do
  if #taken >= tonumber(ARGV[2]) then break end
  local id = ids[i]
  local task = ARGV[1] .. id
  if not redis.call("HGET", task, "pulled") then
    redis.call("LREM", KEYS[1], -1, id)
    redis.call("ZADD", KEYS[2], ARGV[4], id)
    redis.call("HSET", task, "state", "retry")
    taken[#taken + 1] = id
  end
end
return taken
