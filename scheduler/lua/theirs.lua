-- theirs.lua: opens a queue that was closed by asynq's own means, when a person
-- asks for it.
--
-- KEYS 1 asynq's pause key of the queue
-- ARGV 1 what our values begin with
-- Returns 1 when it was so closed and is open now.
local value = redis.call('GET', KEYS[1])
if not value or string.sub(value, 1, #ARGV[1]) == ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
