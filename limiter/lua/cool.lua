-- cool.lua: lets a lane rest. The longest rest wins. Needs closing.lua.
--
-- ARGV[3] ms from now, ARGV[4] reason, ARGV[5] detail
-- Returns {alert, now, end of the rest, 1 if it is another one than before}.
--   {-1, now} when the lane has no limits.
local N, t = M.open('')
if not N then return {-1, t} end
local ends, another = t + tonumber(ARGV[3]), 0
if ends > N.s[COOL] then
  local why = ARGV[4] .. '|' .. ARGV[5]
  if N.s[COOL] <= t or call('HGET', KEYS[2], 'cool') ~= why then another = 1 end
  N.s[COOL] = ends
  call('HSET', KEYS[2], 'cool', why)
  note_closed(string.match(KEYS[1], '^(.*)scope$'), 'c:' .. string.match(KEYS[2], '}:(.*):lane$'), ARGV[4], t, ends)
end
M.save(N)
return {N.rebased, t, N.s[COOL], another}
