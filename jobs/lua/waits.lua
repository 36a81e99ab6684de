-- Reads what open rows have waited, and for what they wait (see waits.go).
--
-- KEYS[1] run hash
-- ARGV[1] key prefix, then indexes
--
-- Returns the time (ms), then per row its record ('' where nobody has looked at it)
-- and when it was enqueued (four bytes, big-endian; '' where it is not known).
local prefix = ARGV[1]
local QUEUED = 1
local time = redis.call('TIME')
local out = {tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)}
for i = 2, #ARGV do
  local n = tonumber(ARGV[i])
  local chunk = math.floor(n / 65536)
  local state = string.byte(redis.call('GETRANGE', prefix .. 'row:' .. chunk, (n % 65536) * 3, (n % 65536) * 3))
  out[#out + 1] = state ~= QUEUED and redis.call('HGET', prefix .. 'wait:' .. math.floor(n / 64), n) or ''
  out[#out + 1] = redis.call('GETRANGE', prefix .. 'at:' .. chunk, (n % 65536) * 4, (n % 65536) * 4 + 3)
end
return out
