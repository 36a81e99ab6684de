-- floors.lua: keeps the floors that were learned for a lane.
--
-- ARGV[3] floors as JSON: {floors: [{class, unit, window, amount, why}], until}; '' = none
-- Returns {alert, now}. {-1, now} when the lane has no limits.
local N, t = M.open('')
if not N then return {-1, t} end
if ARGV[3] == '' then
  call('HDEL', KEYS[2], 'learned')
else
  call('HSET', KEYS[2], 'learned', ARGV[3])
end
M.save(N)
return {N.rebased, t}
