-- Reads chunks without their frames.
--
-- KEYS[1] run hash
-- ARGV[1] key prefix, ARGV[2] first chunk, ARGV[3] how many
--
-- Returns stamp and a byte a row for each; '' where there is none.
local out = {}
for n = tonumber(ARGV[2]), tonumber(ARGV[2]) + tonumber(ARGV[3]) - 1 do
  out[#out + 1] = redis.call('GETRANGE', ARGV[1] .. 'fold:' .. string.format('%d', n), 0, 263)
end
return out
