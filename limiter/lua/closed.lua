-- closed.lua: notes that something is closed that no other script closes. Needs
-- closing.lua.
--
-- KEYS 1 scope
-- ARGV 1 now in ms ('' = Redis's TIME), 2 target, 3 reason, 4 for how long (ms; 0: it is open)
local t = tonumber(ARGV[1])
if not t then
  local x = redis.call('TIME')
  t = x[1] * 1000 + math.floor(x[2] / 1000)
end
note_closed(string.match(KEYS[1], '^(.*)scope$'), ARGV[2], ARGV[3], t, t + tonumber(ARGV[4]))
return 0
