-- meterread.lua: reads buckets in one go. A pipeline would do as well, but not
-- over connections without a buffer.
--
-- KEYS buckets
-- ARGV[1] a pattern with one capture, ARGV[2..] what it captures in the fields that are
--   wanted; none: all fields are
-- Returns for each what HGETALL gives
local wanted = {}
for i = 2, #ARGV do wanted[ARGV[i]] = true end

-- some gives the fields that are wanted. The counts of others are not looked at.
local function some(key)
  local out = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local word = string.match(field, ARGV[1])
    if word and wanted[word] then
      out[#out + 1] = field
      out[#out + 1] = redis.call('HGET', key, field)
    end
  end
  return out
end

local out = {}
for i = 1, #KEYS do
  out[i] = ARGV[1] and some(KEYS[i]) or redis.call('HGETALL', KEYS[i])
end
return out
