-- meterread.lua: reads buckets in one go. A pipeline would do as well, but not
-- over connections without a buffer.
--
-- KEYS buckets
-- Returns for each what HGETALL gives
local out = {}
for i = 1, #KEYS do
  out[i] = redis.call('HGETALL', KEYS[i])
end
return out
