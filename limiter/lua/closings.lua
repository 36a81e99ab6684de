-- closings.lua: gives what was closed, and when (closing.lua).
--
-- KEYS 1 scope
-- ARGV targets
-- Returns target by target an array of reasons and their times by turns.
local prefix, out = string.match(KEYS[1], '^(.*)scope$'), {}
for i = 1, #ARGV do out[i] = redis.call('HGETALL', prefix .. 'closed:' .. ARGV[i]) end
return out
