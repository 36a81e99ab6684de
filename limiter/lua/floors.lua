-- floors.lua: keeps the floors that were learned for a lane. They count from the
-- next slot on.
--
-- ARGV[3] floors as JSON: {floors: [{class, unit, window, amount, why}], until}; '' = none
-- Returns {alert, now}. {-1, now} when the lane has no limits.
local N, t = M.open('')
if not N then return {-1, t} end
if ARGV[3] == '' then
  call('HDEL', N.key, 'learned')
else
  call('HSET', N.key, 'learned', ARGV[3])
end
M.shapes()
local v = call('HMGET', N.key, 'names', 'cfg2')
M.learnt(N.key, N, decode(v[1]), decode(v[2]))
M.save(N)
return {N.rebased, t}
