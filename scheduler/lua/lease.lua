-- Takes or renews a lease.
--
-- KEYS[1] the lease: its owner, with an expiry
-- KEYS[2] the fence: a number that grows with each new holder
-- ARGV[1] owner
-- ARGV[2] milliseconds for which it holds
--
-- Returns the fence when the owner holds the lease now, else 0.
local holder = redis.call("GET", KEYS[1])
if holder == ARGV[1] then
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
  return tonumber(redis.call("GET", KEYS[2]) or "0")
end
if holder then
  return 0
end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return redis.call("INCR", KEYS[2])
