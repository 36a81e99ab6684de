-- Writes one worker's entry and reads the whole fleet; entries that were not
-- renewed in time are removed. Redis's clock judges, so that hosts need not agree.
--
-- KEYS[1] the fleet, a hash of id → "seen|description"
-- KEYS[2] when lanes were served, a hash: "s:LANE" → last time in ms; "g:LANE" →
--   "from,to;from,to;…", the times in which nobody served it, the oldest first
-- ARGV[1] worker id; "" only reads
-- ARGV[2] description as JSON; "" removes the entry
-- ARGV[3] milliseconds for which an entry counts
-- ARGV[4] "1" only writes: a large fleet is not read at every beat
-- ARGV[5…] the lanes that the worker serves
--
-- Returns {now, seen, description, seen, description, …} of the living, times in
-- Unix milliseconds; {now} of one that only writes.
local GAPSKEPT = 5184000000 -- two months, as what was closed (limiter/lua/closing.lua)
local GAPSMOST = 16000 -- bytes of a lane, some 600 times; the oldest go
local t = redis.call("TIME")
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
if ARGV[1] ~= "" then
  if ARGV[2] == "" then
    redis.call("HDEL", KEYS[1], ARGV[1])
  else
    redis.call("HSET", KEYS[1], ARGV[1], string.format("%d", now) .. "|" .. ARGV[2])
  end
end
for i = 5, #ARGV do
  local last = tonumber(redis.call("HGET", KEYS[2], "s:" .. ARGV[i]))
  if last and now - last > tonumber(ARGV[3]) then
    local gaps = (redis.call("HGET", KEYS[2], "g:" .. ARGV[i]) or "") .. string.format("%d,%d;", last, now)
    if #gaps > GAPSMOST then gaps = string.sub(gaps, string.find(gaps, ";", #gaps - GAPSMOST, true) + 1) end
    redis.call("HSET", KEYS[2], "g:" .. ARGV[i], gaps)
  end
  redis.call("HSET", KEYS[2], "s:" .. ARGV[i], string.format("%d", now))
end
if #ARGV > 4 then redis.call("PEXPIRE", KEYS[2], GAPSKEPT) end
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
