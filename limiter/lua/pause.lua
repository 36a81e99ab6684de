-- pause.lua: closes a class, or lifts one reason to keep it closed.
--
-- KEYS 1 scope
-- ARGV 1 now in ms ('' = Redis's TIME), 2 class, 3 reason, 4 end in ms (-1 =
--   until lifted), 5 what a refusal says, 6 the pause as JSON ('' = lift it)
-- Fields: pz:CLASS|REASON is "end|JSON"; p:CLASS is "end|detail" of the pause
-- that holds longest, which acquire.lua reads.
-- Returns how many pauses of the class hold.
local t = tonumber(ARGV[1])
if not t then
  local x = redis.call('TIME')
  t = x[1] * 1000 + math.floor(x[2] / 1000)
end
local prefix = 'pz:' .. ARGV[2] .. '|'
if ARGV[6] == '' then
  redis.call('HDEL', KEYS[1], prefix .. ARGV[3])
else
  redis.call('HSET', KEYS[1], prefix .. ARGV[3], ARGV[4] .. '|' .. ARGV[5] .. '\n' .. ARGV[6])
end
local held, last, said, by = 0, nil, nil, nil
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, #prefix) == prefix then
    local ends, detail = string.match(all[i + 1], '^(%-?%d+)|(.-)\n')
    ends = tonumber(ends)
    if ends >= 0 and ends <= t then
      redis.call('HDEL', KEYS[1], all[i])
    else
      held = held + 1
      local far, most = ends < 0 and math.huge or ends, last and (last < 0 and math.huge or last)
      -- of equals the first reason, so that the answer does not depend on the hash's order
      if not last or far > most or (far == most and all[i] < by) then last, said, by = ends, detail, all[i] end
    end
  end
end
if held == 0 then
  redis.call('HDEL', KEYS[1], 'p:' .. ARGV[2])
else
  redis.call('HSET', KEYS[1], 'p:' .. ARGV[2], string.format('%d|', last) .. said)
end
return held
