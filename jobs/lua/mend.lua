-- Asks asynq for tasks that the ledger takes for open, each by its id, and
-- mends what asynq itself will not (the keys are those of asynq v0.26).
--
-- KEYS[1] pending, KEYS[2] active, KEYS[3] lease, KEYS[4] retry, KEYS[5] scheduled,
-- KEYS[6] archived, KEYS[7] completed: of one queue
-- ARGV[1] task key prefix, ARGV[2] now (s), ARGV[3] now (ns), then task ids
--
-- Returns a code per task:
--   0 with a worker   1 waits in pending   2 waits in retry or scheduled
--   3 there is no such task
--   4 was archived: is pending again
--   5 was active without a lease. It gets one that is over: a worker that lives
--     extends it within 5 s, else asynq takes the task up after 30 to 90 s
--   6 was in no list of its state: is pending again
local active, out = {}, {}
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  active[id] = true
end

local function requeue(key, id, code)
  redis.call('LPUSH', KEYS[1], id)
  redis.call('HSET', key, 'state', 'pending', 'pending_since', ARGV[3])
  return code
end

local function look(id)
  local key = ARGV[1] .. id
  local state = redis.call('HGET', key, 'state')
  if not state then
    redis.call('DEL', key) -- what asynq's result writer leaves of a deleted task
    return 3
  elseif state == 'active' then
    if redis.call('ZSCORE', KEYS[3], id) then
      return 0
    elseif active[id] then
      redis.call('ZADD', KEYS[3], ARGV[2], id)
      return 5
    end
    return requeue(key, id, 6)
  elseif state == 'archived' then
    redis.call('ZREM', KEYS[6], id)
    return requeue(key, id, 4)
  elseif state == 'completed' then
    redis.call('ZREM', KEYS[7], id)
    redis.call('DEL', key)
    return 3
  elseif state == 'pending' then
    if redis.call('LLEN', KEYS[1]) == 0 then
      return requeue(key, id, 6)
    end
    return 1
  end
  local set = state == 'retry' and KEYS[4] or KEYS[5]
  if not redis.call('ZSCORE', set, id) then
    return requeue(key, id, 6)
  end
  return 2
end

for i = 4, #ARGV do
  out[#out + 1] = look(ARGV[i])
end
return out
