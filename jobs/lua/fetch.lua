-- Reads rows.
--
-- KEYS[1] run hash
-- ARGV[1] key prefix, then indexes
--
-- Returns per row: its three bytes ('' where there is none), its result, and
-- "row id NUL fields" where it has no result of its state or that lacks them.
local prefix = ARGV[1]
local out = {}
for i = 2, #ARGV do
  local n = tonumber(ARGV[i])
  local at, bucket = (n % 65536) * 3, math.floor(n / 1024)
  out[#out + 1] = redis.call('GETRANGE', prefix .. 'row:' .. math.floor(n / 65536), at, at + 2)
  out[#out + 1] = redis.call('HGET', prefix .. 'res:' .. bucket, n) or ''
  out[#out + 1] = redis.call('HGET', prefix .. 'fld:' .. bucket, n) or ''
end
return out
