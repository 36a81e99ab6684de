-- Writes results anew that carry other fields of their rows; all else of them is as
-- it was, and so are the rows' states and generations.
--
-- KEYS[1] run hash, KEYS[2] order of ends
-- ARGV[1] key prefix, then per row: index, generation, state, the result (see
--   finish.lua)
--
-- Returns 1 per row, 0 for one that is in another state by now. What follows the run's
-- ends sees the row once more: its index with the highest bit set, by which it is no
-- end.
local prefix = ARGV[1]
local out, ends, bytes = {}, {}, 0

local function pack4(n)
  return string.char(math.floor(n / 16777216) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
end

for i = 2, #ARGV, 4 do
  local n, at = tonumber(ARGV[i]), (tonumber(ARGV[i]) % 65536) * 3
  local key = prefix .. 'row:' .. math.floor(n / 65536)
  local state, hi, lo = string.byte(redis.call('GETRANGE', key, at, at + 2), 1, 3)
  out[#out + 1] = 0
  if state == tonumber(ARGV[i + 2]) and hi * 256 + lo == tonumber(ARGV[i + 1]) then
    local res = prefix .. 'res:' .. math.floor(n / 1024)
    local old = redis.call('HGET', res, n)
    redis.call('HSET', res, n, ARGV[i + 3])
    bytes = bytes + #ARGV[i + 3] - (old and #old or 0)
    ends[#ends + 1] = pack4(2147483648 + n)
    out[#out] = 1
  end
end
if #ends > 0 then
  redis.call('APPEND', KEYS[2], table.concat(ends))
  redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', bytes))
end
return out
