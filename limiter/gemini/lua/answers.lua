-- answers.lua: keeps one answer, and as many of the newest as have room.
--
-- KEYS[1] index: zset of names by when they were kept, in ms
-- KEYS[2] hash of sizes in bytes by name; field 'total' is their sum
-- KEYS[3] what every answer's key begins with; all have the hash tag of KEYS[1]
-- ARGV[1] now in ms ('' = Redis's TIME), ARGV[2] time to live in ms, ARGV[3] bytes in all
-- ARGV[4] name, ARGV[5] answer
-- Returns how many answers there are
local call, floor, format = redis.call, math.floor, string.format
local EACH = 300    -- bytes that Redis takes for an answer's names, beside itself
local SOME = 100    -- answers past their time that one call forgets

local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local t = call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
end
local ttl, most, name, body = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local total = tonumber(call('HGET', KEYS[2], 'total') or '0')

local function drop(m)
  total = total - tonumber(call('HGET', KEYS[2], m) or '0')
  call('HDEL', KEYS[2], m)
  call('ZREM', KEYS[1], m)
  call('DEL', KEYS[3] .. m)
end

drop(name)
for _, m in ipairs(call('ZRANGEBYSCORE', KEYS[1], '-inf', format('%d', now - ttl), 'LIMIT', 0, SOME)) do
  drop(m)
end
local size = #body + EACH
while total + size > most do
  local oldest = call('ZRANGE', KEYS[1], 0, 0)
  if #oldest == 0 then
    total = 0
    break
  end
  drop(oldest[1])
end
if size <= most then
  call('SET', KEYS[3] .. name, body, 'PX', format('%d', ttl))
  call('ZADD', KEYS[1], format('%d', now), name)
  call('HSET', KEYS[2], name, format('%d', size))
  total = total + size
end
call('HSET', KEYS[2], 'total', format('%d', total))
call('PEXPIRE', KEYS[1], format('%d', ttl))
call('PEXPIRE', KEYS[2], format('%d', ttl))
return call('ZCARD', KEYS[1])
