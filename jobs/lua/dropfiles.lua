-- Forgets the files of a run that has no row left which may ask for one again.
--
-- KEYS[1] counters, KEYS[2] files
-- ARGV the states of rows with a good result
--
-- Returns 1 when they are forgotten, 0 when a row may need them or there were none.
local good = {}
for _, state in ipairs(ARGV) do
  good[state] = true
end
local count = redis.call('HGETALL', KEYS[1])
for i = 1, #count, 2 do
  if tonumber(count[i + 1]) ~= 0 and not good[count[i]] then
    return 0
  end
end
return redis.call('UNLINK', KEYS[2])
