-- restore.lua: brings day and month counters back that Redis lost. A counter is
-- only ever raised, and only while its day or month lasts.
--
-- ARGV[3] the node ('' = the lane of KEYS[2])
-- ARGV[4] class, ARGV[5] unit, ARGV[6] window,
--   ARGV[7] start of the day or month, ARGV[8] amount; repeated
-- Returns {alert, now}. {-1, now} when the lane has no limits.
local N, t = M.either(ARGV[3])
if not N then return {-1, t} end
for i = 4, #ARGV, 5 do
  local c = M.class(N, ARGV[i])
  for d = 1, N.nD do
    local o = 2 + (d - 1) * W
    local win = N.cfg[o + 2]
    if c and N.cfg[o + 1] == tonumber(ARGV[i + 1]) and win == tonumber(ARGV[i + 2])
      and (win == EVER or N.s[win == DAY and DAYS or MONS] == tonumber(ARGV[i + 3])) then
      local j = M.at(N, d) + c.i
      N.s[j], N.dirty = math.max(N.s[j], tonumber(ARGV[i + 4])), true
    end
  end
end
M.save(N)
return {N.rebased, t}
