-- Writes one worker's entry and reads the whole fleet; entries that were not
-- renewed in time are removed. Redis's clock judges, so that hosts need not agree.
--
-- KEYS[1] the fleet, a hash of id → "seen|description"
-- ARGV[1] worker id; "" only reads
-- ARGV[2] description as JSON; "" removes the entry
-- ARGV[3] milliseconds for which an entry counts
-- ARGV[4] "1" only writes: a large fleet is not read at every beat
--
-- Returns {now, seen, description, seen, description, …} of the living, times in
-- Unix milliseconds; {now} of one that only writes.
local t = redis.call("TIME")
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
if ARGV[1] ~= "" then
  if ARGV[2] == "" then
    redis.call("HDEL", KEYS[1], ARGV[1])
  else
    redis.call("HSET", KEYS[1], ARGV[1], string.format("%d", now) .. "|" .. ARGV[2])
  end
end
if ARGV[4] == "1" then return {string.format("%d", now)} end
local all, out = redis.call("HGETALL", KEYS[1]), {string.format("%d", now)}
for i = 1, #all, 2 do
  local cut = string.find(all[i + 1], "|", 1, true)
  local seen = tonumber(string.sub(all[i + 1], 1, cut - 1))
  if now - seen <= tonumber(ARGV[3]) then
    out[#out + 1] = string.format("%d", seen)
    out[#out + 1] = string.sub(all[i + 1], cut + 1)
  elseif ARGV[1] ~= "" then
    redis.call("HDEL", KEYS[1], all[i])
  end
end
return out
