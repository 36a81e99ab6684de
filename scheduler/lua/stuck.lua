-- Gives a lease to a queue's active tasks that have none. asynq's recoverer
-- looks only at leases (rdb.go, ListLeaseExpired), so such a task would be
-- active for ever (asynq #1144, #1051). A worker that still has it goes on
-- renewing the lease (ZADD XX); otherwise it runs out and asynq puts the task
-- back. asynq moves a task and its lease in one script, so none is seen between.
--
-- KEYS[1] asynq:{queue}:active
-- KEYS[2] asynq:{queue}:lease
-- ARGV[1] Unix second at which the new leases end
-- ARGV[2] task key prefix, asynq:{queue}:t:
--
-- Returns {leases given, entries of vanished tasks removed}.
local given, ghosts = 0, 0
for _, id in ipairs(redis.call("LRANGE", KEYS[1], 0, -1)) do
  if not redis.call("ZSCORE", KEYS[2], id) then
    if redis.call("EXISTS", ARGV[2] .. id) == 1 then
      redis.call("ZADD", KEYS[2], ARGV[1], id)
      given = given + 1
    else
      redis.call("LREM", KEYS[1], 0, id)
      ghosts = ghosts + 1
    end
  end
end
return {given, ghosts}
