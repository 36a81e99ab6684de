-- probe.lua: tries every command that the scripts use, on keys of its own.
--
-- KEYS 1 a hash, 2 a sorted set, 3 a set, 4 a stream, which nobody else uses
-- Returns "COMMAND error" for each command that Redis refuses. The keys are gone
-- afterwards.
local hash, sorted, set, stream = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local refused = {}
local function try(command, ...)
  local r = redis.pcall(command, ...)
  if type(r) == 'table' and r.err then refused[#refused + 1] = command .. ' ' .. r.err end
end

try('TIME')
try('HSET', hash, 'a', '1')
try('HSETNX', hash, 'b', '1')
try('HINCRBY', hash, 'b', 1)
try('HGET', hash, 'a')
try('HMGET', hash, 'a', 'b')
try('HGETALL', hash)
try('HLEN', hash)
try('PEXPIRE', hash, 60000)
try('PERSIST', hash)
try('HDEL', hash, 'a', 'b')
try('ZADD', sorted, 1, 'a')
try('ZSCORE', sorted, 'a')
try('ZRANGE', sorted, 0, -1)
try('ZRANGEBYSCORE', sorted, 0, 1)
try('ZREVRANGEBYSCORE', sorted, 1, 0)
try('ZREM', sorted, 'a')
try('SADD', set, 'a')
try('XADD', stream, '*', 'a', '1')
try('XREVRANGE', stream, '+', '-', 'COUNT', 1)
for _, key in ipairs({hash, sorted, set, stream}) do redis.pcall('PEXPIRE', key, 1) end
return refused
