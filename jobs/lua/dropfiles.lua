-- Forgets the contents of a run's files when it has no row left which may ask for one
-- again. What the files were stays, so that it can be told which one has changed.
--
-- KEYS[1] counters, KEYS[2] files
-- ARGV the states of rows with a good result
--
-- Returns how many contents are forgotten: 0 when a row may need them or there are none.
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
local gone = 0
for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
  if string.sub(field, 1, 1) == 'd' then
    gone = gone + redis.call('HDEL', KEYS[2], field)
  end
end
return gone
