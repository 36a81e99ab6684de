-- settle.lua: ends permits of one lane, corrects open ones, or extends them.
--
-- ARGV[3] how many; for each of them 11 values:
--   id, what (settled, released, partial, extend), lease in ms (extend), 8 x used
-- Returns {alert, now, then 1 for each that was found, 2 where its lease had
-- lapsed, 0 where there was nothing to settle}. {-1, now} when the lane has no limits.

-- correct_slot adds a delta to the slot of a sliding window in which it was
-- admitted; no slot gives back more than it holds.
function M.correct_slot(N, c, d, win, from, delta, ring)
  local s, k = N.s, c.k
  local now, slot, j = s[win == TEN and CUR10 or CUR], floor(from / M.width(win)), M.at(N, d) + c.i
  if slot >= now then
    if k[d] + delta < 0 then delta = -k[d] end
    k[d], s[j] = k[d] + delta, math.max(0, s[j] + delta)
  elseif slot > now - SPAN then
    local ranks, count = M.ranks(N, win)
    if not ring[win] then
      ring[win] = M.used_in(N, win, slot, slot)
      ring[win][slot], ring[win].of = ring[win][slot] or M.zeros(N.nC * count), slot
    end
    local v, x = ring[win][slot], (c.i - 1) * count + ranks[d]
    if v[x] + delta < 0 then delta = -v[x] end
    v[x], s[j] = v[x] + delta, math.max(0, s[j] + delta)
  end
end

-- correct adds deltas (by unit) where the permit was charged. A window that has
-- turned since is left alone.
function M.correct(N, c, p, epoch, used)
  local s, k, nD, t, ring = N.s, c.k, N.nD, N.s[TS], {}
  for d = 1, nD do
    local o = 2 + (d - 1) * W
    local unit, win = N.cfg[o + 1], N.cfg[o + 2]
    local delta = used[unit + 1] - p[5 + unit]
    if delta ~= 0 and not M.since(N, d, p, epoch) then delta = 0 end
    if delta ~= 0 and M.counted(win) then
      local j = M.at(N, d) + c.i
      if win == EVER or p[1] >= s[win == DAY and DAYS or MONS] then s[j] = math.max(0, s[j] + delta) end
    elseif delta ~= 0 and win ~= HELD and (epoch == s[REBASED] or M.before(N, win, p)) then
      local from = epoch == s[REBASED] and p[1] or s[REBASED]
      if c.smooth and win == MINUTE and k[nD + d] > 0 and from > t - 61000 then
        k[nD + d] = k[nD + d] + (delta < 0 and -1 or 1) * M.step(N, c, d, math.abs(delta))
      end
      M.correct_slot(N, c, d, win, from, delta, ring)
    end
  end
  for win, slots in pairs(ring) do M.keep(N.key, win, floor(slots.of / EIGHT), slots) end
  c.dirty, N.dirty = true, true
end

-- rescale changes what an open permit adds to the margin.
function M.rescale(N, p, epoch, used)
  for d = 1, N.nD do
    local o = 2 + (d - 1) * W
    local unit = N.cfg[o + 1]
    if N.cfg[o + 2] ~= HELD and M.since(N, d, p, epoch) then
      M.subtract(N, d, 0, M.square(N, d, p[5 + unit]) - M.square(N, d, used[unit + 1]))
    end
  end
end

-- amend corrects a permit that stays open; usage so far only ever raises a charge.
function M.amend(N, id, name, p, nodes, used)
  for u = 1, 8 do
    if u > 6 or used[u] < p[4 + u] then used[u] = p[4 + u] end
  end
  M.charged(N, name, p, nodes, function(L, c, epoch)
    M.correct(L, c, p, epoch, used)
    if p[4] == 0 then M.rescale(L, p, epoch, used) end
  end)
  for u = 1, 8 do p[4 + u] = used[u] end
  call('HSET', KEYS[3], id, M.unparse(name, p, nodes))
end

function M.extend(id, name, p, nodes, ends)
  if p[4] == 1 then return 2 end
  p[2] = ends
  call('HSET', KEYS[3], id, M.unparse(name, p, nodes))
  call('ZADD', KEYS[4], format('%d', ends), 'p' .. id)
  return 1
end

function M.settle(N, t, id, what, lease, used)
  local v = call('HGET', KEYS[3], id)
  if not v then return 0 end
  local name, p, nodes = M.parse(v)
  local lapsed = p[4] == 1
  if what == 'extend' then return M.extend(id, name, p, nodes, t + lease) end
  if what == 'partial' then
    M.amend(N, id, name, p, nodes, used)
    return lapsed and 2 or 1
  end
  M.charged(N, name, p, nodes, function(L, c, epoch)
    M.correct(L, c, p, epoch, used)
    if not lapsed then M.give(L, c, p, epoch) end
  end)
  call('HDEL', KEYS[3], id)
  call('ZREM', KEYS[4], 'p' .. id)
  return lapsed and 2 or 1
end

M.ends()
local N, t = M.open('')
if not N then return {-1, t} end
local answer = {N.rebased, t}
for i = 1, tonumber(ARGV[3]) do
  local o = 3 + (i - 1) * 11
  local used = {}
  for u = 1, 8 do used[u] = tonumber(ARGV[o + 3 + u]) end
  answer[2 + i] = M.settle(N, t, ARGV[o + 1], ARGV[o + 2], tonumber(ARGV[o + 3]), used)
end
M.save(N)
return answer
