-- shape.lua: gives a ledger limits and classes, and keeps what was used. Needs
-- base.lua and slots.lua.

-- shapes makes what only a new shape needs.
function M.shapes()
  if M.reshape then return end
  M.slots()

  -- mapping tells, for each place of the new list, which old places it takes over;
  -- what no new place takes goes to the last one (rest) or is dropped.
  function M.mapping(new, old, same, rest)
    local m, taken = {}, {}
    for i = 1, new do
      m[i] = {}
      for j = 1, old do
        if same(i, j) then m[i][#m[i] + 1], taken[j] = j, true end
      end
    end
    for j = 1, old do
      if rest and not taken[j] then m[new][#m[new] + 1] = j end
    end
    return m
  end

  function M.sum(t, places, f)
    local x = 0
    for _, j in ipairs(places) do x = x + (t[f(j)] or 0) end
    return x
  end

  -- carry gives the new state from the old one. A limit that is new counts from t.
  function M.carry(N, old, dims, classes, t)
    local s, tail, was = {}, H + N.nD * (N.nC + 1), H + old.nD * (old.nC + 1)
    for i = 1, H do s[i] = old.s[i] end
    for d = 1, N.nD do
      local from = dims[d][1]
      s[M.at(N, d)] = from and old.s[M.at(old, from)] or 0
      s[tail + d] = from and (old.s[was + from] or 0) or t
      for i = 1, N.nC do
        s[M.at(N, d) + i] = from and M.sum(old.s, classes[i], function(j) return M.at(old, from) + j end) or 0
      end
    end
    s[tail + N.nD + 1] = old.s[was + old.nD + 1] or 0
    return s
  end

  -- recut rewrites the slots for the new dims and classes.
  function M.recut(key, N, old, dims, classes)
    for win = MINUTE, TEN do
      local now = old.s[win == TEN and CUR10 or CUR]
      local _, before = M.ranks(old, win)
      local _, count = M.ranks(N, win)
      local was = before > 0 and M.used_in(old, win, now - SPAN + 1, now) or {}
      for e = floor((now - SPAN + 1) / EIGHT), floor(now / EIGHT) do
        local slots, any = {}, false
        for m = e * EIGHT, e * EIGHT + EIGHT - 1 do
          if was[m] then slots[m], any = M.recut_slot(N, old, was[m], win, dims, classes), true end
        end
        if any and count > 0 then M.keep(key, win, e, slots) elseif any then call('HDEL', key, M.group(win, e)) end
      end
    end
  end

  -- recut_slot gives the new slot of an old one.
  function M.recut_slot(N, old, v, win, dims, classes)
    local before, n = M.ranks(old, win)
    local ranks, count = M.ranks(N, win)
    local slot = M.zeros(N.nC * count)
    for d, y in pairs(ranks) do
      local from = dims[d][1]
      for i = 1, from and N.nC or 0 do
        local x = (i - 1) * count + y
        for _, j in ipairs(classes[i]) do slot[x] = slot[x] + v[(j - 1) * n + before[from]] end
      end
    end
    return slot
  end

  -- fresh gives the state of a lane that was never used.
  function M.fresh(N, t)
    N.s = M.zeros(H + N.nD * (N.nC + 2) + 1)
    N.s[TS], N.s[CUR], N.s[CUR10] = t, floor(t / 500), floor(t / 5000)
    N.pk, N.k = M.zeros(N.nD * N.nC), {}
    for i = 1, N.nC do N.k[i] = M.zeros(2 * N.nD) end
  end

  -- paced_on takes a pace over; where another limit holds now, what was before it is
  -- forgiven: a pace of a smaller limit would hold the larger one back for long.
  function M.paced_on(N, old, d, from, pace, t)
    local a, b = 2 + (d - 1) * W, 2 + (from - 1) * W
    if N.cfg[a + 3] == old.cfg[b + 3] and N.cfg[a + 6] == old.cfg[b + 6] then return pace end
    return math.min(pace, t * 1000)
  end

  function M.kept(key, N, names, old, t)
    local before = decode(call('HGET', key, 'names'))
    local dims = M.mapping(N.nD, old.nD, function(i, j)
      local a, b = 2 + (i - 1) * W, 2 + (j - 1) * W
      return N.cfg[a + 1] == old.cfg[b + 1] and N.cfg[a + 2] == old.cfg[b + 2]
    end)
    local classes = M.mapping(N.nC, old.nC, function(i, j) return names[i] == before[j] end, true)
    local pk, ks = decode(call('HGET', key, 'pk')), {}
    for j, name in ipairs(before) do
      ks[j] = M.class(old, name).k
      call('HDEL', key, 'r:' .. name, 'k:' .. name)
    end
    N.s, N.pk, N.k = M.carry(N, old, dims, classes, t), {}, {}
    for i = 1, N.nC do
      N.k[i] = M.zeros(2 * N.nD)
      for d = 1, N.nD do
        local from = dims[d][1]
        N.pk[(d - 1) * N.nC + i] = from and M.sum(pk, classes[i], function(j) return (from - 1) * old.nC + j end) or 0
        for _, j in ipairs(classes[i]) do
          if from then
            N.k[i][d] = N.k[i][d] + ks[j][from]
            N.k[i][N.nD + d] = math.max(N.k[i][N.nD + d], M.paced_on(N, old, d, from, ks[j][old.nD + from], t))
          end
        end
      end
    end
    M.recut(key, N, old, dims, classes)
  end

  -- former gives a ledger as it was, moved to t; nil when it never had limits.
  function M.former(key, node, t)
    local v = call('HMGET', key, 'cfg', 'sums', 'was')
    v[1] = v[1] or v[3]
    if not v[1] then return nil end
    local old = M.ledger(key, node, {v[1], v[2]})
    return old, M.move(old, t)
  end

  -- learnt works out by dim and class what the floors that were learned come to:
  -- between the least floor and the guarantee, -1 where none counts. It begins
  -- with their end.
  function M.learnt(key, N, names, lim)
    local v = call('HMGET', key, 'learned', 'least')
    if not v[1] or not v[2] then
      call('HDEL', key, 'fl')
      return nil
    end
    local kept, least = decode(v[1]), decode(v[2])
    local fl = {kept['until']}
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      for i = 1, N.nC do
        local x = (d - 1) * N.nC + i
        fl[1 + x] = -1
        for _, f in ipairs(kept.floors) do
          if least[x] >= 0 and f.class == names[i] and f.unit == N.cfg[o + 1] and f.window == N.cfg[o + 2] then
            fl[1 + x] = math.max(least[x], math.min(f.amount, lim[4 * x - 2]))
          end
        end
      end
    end
    call('HSET', key, 'fl', M.pack(fl))
    return fl
  end

  -- reshape writes cfg, cfg2 and names (base.lua) and what follows from them.
  function M.reshape(key, node, cfg, cfg2, list, t)
    local old, moved = M.former(key, node, t)
    t = moved or t
    local N = {key = key, node = node, cfg = decode(cfg), cls = {}, rebased = old and old.rebased or 0}
    N.nC, N.nD = N.cfg[1], N.cfg[2]
    local names, put = decode(list), {}
    if old then M.kept(key, N, names, old, t) else M.fresh(N, t) end
    M.calendar(N, t)
    local lim = decode(cfg2)
    if not node then
      call('HDEL', key, 'inplace') -- classes may have other places now; who waits asks again
      N.fl = M.learnt(key, N, names, lim)
      local low = call('HGET', key, 'low')
      if low then
        M.lowers()
        M.ease(N, decode(low), t)
        cfg = M.pack(N.cfg)
      end
    end
    M.reserves(N, names, lim, N.pk, put)
    for i, name in ipairs(names) do
      put[#put + 1] = 'k:' .. name
      put[#put + 1] = M.pack(N.k[i])
    end
    call('HSET', key, 'cfg', cfg, 'cfg2', cfg2, 'names', list, 'sums', M.pack(N.s), 'pk', M.pack(N.pk), unpack(put))
    return N, t
  end

  -- close takes a ledger's limits away; what it used is kept for when it has some again.
  function M.close(key, node, t)
    local old = M.former(key, node, t)
    if not old then return end
    M.put(old)
    call('HSET', key, 'was', call('HGET', key, 'cfg'))
    call('HDEL', key, 'cfg')
  end
end
