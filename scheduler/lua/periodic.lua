-- Writes a schedule's state where it is still what the writer saw: of two schedulers
-- one goes on.
--
-- KEYS[1] hash: schedule → state (JSON)
-- ARGV[1] schedule, ARGV[2] the state that was seen ("" for none), ARGV[3] the new one
--
-- Returns 1 when it was written.
local have = redis.call("HGET", KEYS[1], ARGV[1]) or ""
if have ~= ARGV[2] then return 0 end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[3])
return 1
