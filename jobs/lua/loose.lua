-- Says how many results are in fields of their own.
--
-- KEYS[1] run hash
-- ARGV[1] key prefix, ARGV[2] first result hash, ARGV[3] how many hashes
--
-- Returns a number per hash.
local out = {}
for n = tonumber(ARGV[2]), tonumber(ARGV[2]) + tonumber(ARGV[3]) - 1 do
  out[#out + 1] = redis.call('HLEN', ARGV[1] .. 'res:' .. string.format('%d', n))
end
return out
