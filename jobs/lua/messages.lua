-- Reads what asynq keeps of tasks (the keys are those of asynq v0.26).
--
-- KEYS[1] any key of the queue
-- ARGV[1] task key prefix, then task ids
--
-- Returns each one's encoded message; '' where there is no such task.
local out = {}
for i = 2, #ARGV do
  out[#out + 1] = redis.call('HGET', ARGV[1] .. ARGV[i], 'msg') or ''
end
return out
