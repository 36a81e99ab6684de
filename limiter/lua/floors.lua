-- floors.lua: keeps the floors that were learned for a lane. They count at once.
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
local v, put = call('HMGET', N.key, 'names', 'cfg2', 'pk'), {}
local names, lim = decode(v[1]), decode(v[2])
N.fl = M.learnt(N.key, N, names, lim)
M.lowers()
M.insides(N)
M.reserves(N, names, lim, decode(v[3]), put)
call('HSET', N.key, unpack(put))
M.save(N)
return {N.rebased, t}
