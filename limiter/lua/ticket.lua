-- ticket.lua: where a ticket stands.
--
-- ARGV[3] ticket
-- Returns {alert, now, class, leaf, released (1, 0), position, waiting in the
--   leaf, ms until its turn, moment at which its release lapses, unit and window
--   of the limit that binds it now (-1 = none), 8 x amount, whose limit that is
--   (a node, 'lane', '' = none)}.
--   {alert, now} when there is no such ticket; {-1, now} when the lane has no limits.
M.lines()
local N, t = M.open('')
if not N then return {-1, t} end
M.know()
local tk = M.read_ticket(ARGV[3])
local c, name
if tk then c, name = M.named(N, tk.id) end
if not c or not c.l then
  M.save(N)
  return {N.rebased, t}
end
local f = M.leaf(c, name, 0)
local out = {N.rebased, t, c.name, name, tk.released and 1 or 0, 0, f[COUNT], 0, 0, -1, -1}
if tk.released then
  out[9] = -tonumber(call('ZSCORE', KEYS[4], 't' .. ARGV[3]) or '0')
else
  out[6] = M.position(f, tk.seq)
  local _, last, rest = M.turns_before(c, f, out[6])
  out[8] = math.max(0, last - t) + floor(M.eta(N, c, f, out[6]) * rest)
  local no = M.fits(N, c, tk.a, M.slice(c.l, OUT))
  for _, nc in ipairs(M.along(c, f)) do no = no or M.fits(nc.N, nc, tk.a, nc.l and M.slice(nc.l, OUT)) end
  no = no or M.smooth(N, c, tk.a, t)
  if no then
    local cfg, o = no[9].cfg, 2 + (no[1] - 1) * W
    out[10], out[11], out[20] = cfg[o + 1], cfg[o + 2], no[9].node or 'lane'
  end
end
M.save(N)
for u = 1, 8 do out[11 + u] = tk.a[u] end
out[20] = out[20] or ''
return out
