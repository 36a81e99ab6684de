-- Sets when parked tasks come back by themselves, and what asynqmon says of
-- them. Those that are no longer in the retry set were pulled meanwhile.
--
-- KEYS[1] asynq:{queue}:retry
-- ARGV[1] task key prefix, asynq:{queue}:t:
-- ARGV[2…] per task: id, Unix seconds, protobuf fields to put behind the message
--   (of a field that is there twice, the last one counts)
for i = 2, #ARGV, 3 do
  local id = ARGV[i]
  if redis.call("ZSCORE", KEYS[1], id) then
    redis.call("ZADD", KEYS[1], "XX", ARGV[i + 1], id)
    local task = ARGV[1] .. id
    local msg = redis.call("HGET", task, "msg")
    if msg then redis.call("HSET", task, "msg", msg .. ARGV[i + 2]) end
  end
end
return redis.status_reply("OK")
