-- Gives a lease back, if it is still the owner's.
--
-- KEYS[1] the lease
-- ARGV[1] owner
--
-- Returns 1 when it was.
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0
