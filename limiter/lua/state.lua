-- state.lua: what a lane or a node looks like now.
--
-- ARGV[3] the node ('' = the lane of KEYS[2])
-- Returns {alert, now, cfg, cfg2, names, s, pk, cool, permits (lapsed ones
--   included), next free moments of the dims (0 = nothing leaves), then for each
--   class r, k and l ('' = no line), then how often each limit would have refused
--   in shadow, one after the other, then the leaves hash as names and values}.
--   {-1, now} when the lane has no limits.

-- oldest gives the moment at which the oldest slot of dim d leaves.
function M.oldest(N, d)
  local win = N.cfg[2 + (d - 1) * W + 2]
  if win == DAY then return N.s[DAYE] end
  if win == MONTH then return N.s[MONE] end
  if win == HELD or win == EVER then return 0 end
  local now, used = N.s[win == TEN and CUR10 or CUR], 0
  for i = 1, N.nC do used = used + N.s[M.at(N, d) + i] end
  if used == 0 then return 0 end
  local ranks, count = M.ranks(N, win)
  local slots = M.used_in(N, win, now - SPAN + 1, now - 1)
  for m = now - SPAN + 1, now - 1 do
    for i = 1, slots[m] and N.nC or 0 do
      if slots[m][(i - 1) * count + ranks[d]] > 0 then return (m + SPAN) * M.width(win) end
    end
  end
  return (now + SPAN) * M.width(win)
end

M.ends()
local N, t = M.either(ARGV[3])
if not N then return {-1, t} end
M.save(N)
local free = {}
for d = 1, N.nD do free[d] = M.oldest(N, d) end
local v = call('HMGET', N.key, 'cfg', 'cfg2', 'names', 'sums', 'pk', 'cool', 'learned', 'fl', 'low', 'inplace')
local out = {N.rebased, t, v[1], v[2], v[3], v[4], v[5], v[6] or '', call('HLEN', KEYS[3]), M.pack(free), v[7] or '', v[8] or '', v[9] or '', v[10] or ''}
for _, name in ipairs(decode(v[3])) do
  local x = call('HMGET', N.key, 'r:' .. name, 'k:' .. name, 'l:' .. name)
  out[#out + 1] = x[1]
  out[#out + 1] = x[2]
  out[#out + 1] = x[3] or ''
end
for d = 1, N.nD do
  local o = 2 + (d - 1) * W
  out[#out + 1] = tonumber(call('HGET', N.key, format('x:%d.%d', N.cfg[o + 1], N.cfg[o + 2])) or '0')
end
if N.node then return out end
for _, x in ipairs(call('HGETALL', KEYS[6])) do out[#out + 1] = x end
return out
