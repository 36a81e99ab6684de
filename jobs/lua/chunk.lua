-- Reads what is to be folded into one chunk, at one moment.
--
-- KEYS[1] chunk, KEYS[2] result hash, KEYS[3] rows' states
-- ARGV[1] first row's index, ARGV[2] rows, ARGV[3] where their states begin
--
-- Returns the chunk ('' where there is none), the rows' states (three bytes
-- each), then each row's own field or ''.
local first, n, at = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local names = {}
for i = 0, n - 1 do
  names[#names + 1] = string.format('%d', first + i)
end
local out = {redis.call('GET', KEYS[1]) or '', redis.call('GETRANGE', KEYS[3], at, at + 3 * n - 1)}
for i, v in ipairs(redis.call('HMGET', KEYS[2], unpack(names))) do
  out[2 + i] = v or ''
end
return out
