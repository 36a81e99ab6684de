-- members.lua: who of the schedulers is there.
--
-- KEYS 1 members hash
-- ARGV 1 our id ('' = only look), 2 our description as JSON ('' = we leave),
--   3 after how many ms of silence a member is forgotten
-- Returns {now in ms, then for each member the ms it was seen and its description}.
local x = redis.call('TIME')
local now = x[1] * 1000 + math.floor(x[2] / 1000)
if ARGV[1] ~= '' then
  if ARGV[2] == '' then
    redis.call('HDEL', KEYS[1], ARGV[1])
  else
    redis.call('HSET', KEYS[1], ARGV[1], string.format('%d', now) .. '|' .. ARGV[2])
  end
end
local out = {string.format('%d', now)}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local seen, text = string.match(all[i + 1], '^(%d+)|(.*)$')
  if seen and tonumber(seen) > now - tonumber(ARGV[3]) then
    out[#out + 1] = seen
    out[#out + 1] = text
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return out
