-- Whether a lane's calls are asked for of the flex tier, for the whole fleet. Flex
-- sheds calls when its capacity is short; then rows go to standard for a while, and
-- one call now and then looks whether flex serves again.
--
-- KEYS[1] nightshift:{flex:LANE}, a hash:
--   last   of the last calls of flex, oldest first: 1 for one that was shed, 0 for one that was served
--   dry    since when none was served (ms); absent while the last one was
--   since  since when standard is asked for (ms); absent while flex is
--   until  when flex is tried next (ms)
--   hold   how long until then (ms)
--   probe  until when a look is out (ms)
-- ARGV[1] look, probe, leave, served or shed
-- ARGV[2] of probe: for how long it is out (ms); of served and shed: 1 where the call was one
-- ARGV[3…] of the rules: calls looked at, shed calls of them that are too many, without one
--   served for so long (ms), first hold (ms), longest hold (ms)
--
-- Returns {what, since, until}, times in ms, 0 for none. What is flex, standard or due (it is
-- time for a look) of look; 1 or 0 of probe; escaped, back or "" of served and shed.
local t = redis.call("TIME")
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local function get(name) return tonumber(redis.call("HGET", KEYS[1], name) or "") or 0 end
local function set(name, v) redis.call("HSET", KEYS[1], name, string.format("%d", v)) end
local op = ARGV[1]
local since = get("since")
local until_ = get("until")

if op == "look" then
  local what = "flex"
  if since > 0 then
    what = "standard"
    if until_ <= now and get("probe") <= now then what = "due" end
  end
  return {what, string.format("%d", since), string.format("%d", until_)}
end

if op == "probe" then
  if since == 0 or until_ > now or get("probe") > now then return {"0", "0", "0"} end
  set("probe", now + tonumber(ARGV[2]))
  return {"1", string.format("%d", since), string.format("%d", until_)}
end

if op == "leave" then
  redis.call("HDEL", KEYS[1], "probe")
  return {"", "0", "0"}
end

local probe = ARGV[2] == "1"
if since > 0 and not probe then return {"", "0", "0"} end -- it went out before
local what = ""
if op == "served" then
  redis.call("HDEL", KEYS[1], "dry")
  if since > 0 then
    redis.call("DEL", KEYS[1])
    return {"back", string.format("%d", since), "0"}
  end
elseif since > 0 then
  local hold = math.min(2 * get("hold"), tonumber(ARGV[7]))
  set("hold", hold)
  until_ = now + hold
  set("until", until_)
  redis.call("HDEL", KEYS[1], "probe")
  return {"", string.format("%d", since), string.format("%d", until_)}
end

local last = redis.call("HGET", KEYS[1], "last") or ""
if op == "shed" then last = last .. "1" else last = last .. "0" end
last = string.sub(last, -tonumber(ARGV[3]))
redis.call("HSET", KEYS[1], "last", last)
if op == "shed" then
  local dry = get("dry")
  if dry == 0 then
    dry = now
    set("dry", dry)
  end
  local _, shed = string.gsub(last, "1", "")
  if shed >= tonumber(ARGV[4]) or now - dry >= tonumber(ARGV[5]) then
    what = "escaped"
    since = now
    until_ = now + tonumber(ARGV[6])
    set("since", since)
    set("until", until_)
    set("hold", tonumber(ARGV[6]))
    redis.call("HDEL", KEYS[1], "last", "dry", "probe")
  end
end
redis.call("EXPIRE", KEYS[1], 86400)
return {what, string.format("%d", since), string.format("%d", until_)}
