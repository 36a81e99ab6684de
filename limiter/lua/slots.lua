-- slots.lua: slots, peaks, days and leases: what a script needs when a slot or a
-- lease ends. Needs base.lua, which calls it.

-- ends makes what settling, lapsing and moving slots need.
function M.ends()
  if M.give then return end
  M.rings()

  function M.zeros(n)
    local t = {}
    for i = 1, n do t[i] = 0 end
    return t
  end

  function M.subtract(N, d, i, amount)
    local j = M.at(N, d) + i
    N.s[j], N.dirty = math.max(0, N.s[j] - amount), true
  end

  -- ranks gives each dim's place among those of its window (nil: of another one),
  -- and how many they are: a class's part of a slot.
  function M.ranks(N, win)
    local ranks, n = {}, 0
    for d = 1, N.nD do
      if N.cfg[2 + (d - 1) * W + 2] == win then
        n = n + 1
        ranks[d] = n
      end
    end
    return ranks, n
  end

  -- width is a slot of a sliding window in ms; nil for other windows.
  function M.width(win) return win == MINUTE and 500 or win == TEN and 5000 or nil end

  -- parse reads a permit, "CLASS|[granted, ends, epoch, lapsed, 8 x amount]|NODES":
  -- its class, the numbers, and the nodes that it was charged to, each line "epoch NODE".
  function M.parse(v)
    local name, numbers, nodes = string.match(v, '^(.-)|(%[[^%]]*%])|?(.*)$')
    return name, decode(numbers), nodes
  end

  -- unparse is what parse reads.
  function M.unparse(name, p, nodes)
    return name .. '|' .. M.pack(p) .. (nodes ~= '' and '|' .. nodes or '')
  end

  -- since tells whether limit d was there when a permit was charged to the ledger: a
  -- limit that came later never counted it.
  function M.since(N, d, p, epoch)
    local x = N.s[H + N.nD * (N.nC + 1) + d]
    if not x or x == 0 then return true end
    if epoch == N.s[REBASED] then return x < 0 or p[1] >= x end
    return x < 0 and p[1] >= -x
  end

  -- before tells whether what a permit was charged still counted when the clock was
  -- set back.
  function M.before(N, win, p)
    local was = N.s[H + N.nD * (N.nC + 2) + 1]
    return not was or floor(p[1] / M.width(win)) > floor(was / M.width(win)) - SPAN
  end

  -- gone gives the ledger of a node that has no limits now, for what it was charged
  -- when it had some.
  function M.gone(node, t, first)
    local key, id = string.match(KEYS[1], '^(.*)scope$') .. 'node:' .. node, '\n' .. node
    if M.opened[id] == nil then
      local v = call('HMGET', key, 'cfg', 'sums', 'r:' .. first, 'k:' .. first, 'l:' .. first, 'was')
      v[1] = v[1] or v[6]
      M.opened[id] = v[1] and M.ledger(key, node, v, first) or false
      if v[1] then
        M.opened[id].own = true
        M.move(M.opened[id], t)
      end
    end
    return M.opened[id]
  end

  -- charged calls each with the ledgers and classes that a permit was charged to.
  function M.charged(N, name, p, nodes, each)
    each(N, M.owner(N, name), p[3])
    if nodes == '' then return end
    M.nodes()
    for epoch, node in string.gmatch(nodes, '(%d+) ([^\n]+)') do
      local L = M.node(node, N.s[TS], name) or M.gone(node, N.s[TS], name)
      if L then each(L, M.owner(L, name), tonumber(epoch)) end
    end
  end

  -- owner gives the class that a permit is charged to: the lowest, if its own was removed.
  function M.owner(N, name)
    local c = M.class(N, name)
    if c then return c end
    local names = decode(call('HGET', N.key, 'names'))
    return M.class(N, names[N.nC])
  end

  -- give takes an ended permit out of what is held and out of the margin.
  function M.give(N, c, p, epoch)
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      local amount = p[5 + N.cfg[o + 1]]
      if not M.since(N, d, p, epoch) then
        amount = 0
      elseif N.cfg[o + 2] == HELD then
        M.subtract(N, d, c.i, amount)
      else
        M.subtract(N, d, 0, M.square(N, d, amount))
      end
    end
  end
end

-- slots makes what is needed once in a slot.
function M.slots()
  if M.roll then return end
  M.ends()

  -- turn moves the sums of a sliding window from slot prev to slot n; ks is what the
  -- classes have in the open slot, and moved notes whose changes.
  function M.turn(N, win, prev, n, ks, moved)
    local ranks, count = M.ranks(N, win)
    if count == 0 then return end
    local open, any, used = {}, false, false
    for i = 1, N.nC do
      local k, x = ks[i], (i - 1) * count
      for d = 1, N.nD do
        local y = ranks[d]
        if y then
          open[x + y] = k[d]
          used = used or N.s[M.at(N, d) + i] > 0
          if k[d] > 0 then k[d], any, moved[i] = 0, true, true end
        end
      end
    end
    if any then M.close_slot(N, win, prev, open) end
    if used then M.leave(N, win, prev - SPAN + 1, math.min(prev, n - SPAN), ranks, count) end
  end

  -- leave takes slots from..to out of the sums.
  function M.leave(N, win, from, to, ranks, count)
    if from > to then return end
    for slot, v in pairs(M.used_in(N, win, from, to)) do
      for d, y in pairs(slot >= from and slot <= to and ranks or {}) do
        for i = 1, N.nC do
          local amount = v[(i - 1) * count + y]
          if amount > 0 then M.subtract(N, d, i, amount) end
        end
      end
    end
    M.forget_to(N, win, from, to)
  end

  -- decay halves a peak every 240 slots (two minutes).
  function M.decay(p, slots)
    while slots >= 240 and p > 0 do p, slots = floor(p / 2), slots - 240 end
    while slots >= 16 and p > 0 do p, slots = floor(p * 3911 / 4096), slots - 16 end
    while slots >= 1 and p > 0 do p, slots = floor(p * 4084 / 4096), slots - 1 end
    return p
  end

  -- protect is what classes below must leave to a class: its forecast, between floor and guarantee.
  function M.protect(unit, win, peak, low, high)
    if M.counted(win) or high <= low then return low end
    local p = peak / 16
    local f = 1.5 * p
    if unit == 0 then f = f + 2 * sqrt(p) end
    return math.max(low, math.min(high, floor(f)))
  end

  -- reserves writes what each class must leave to the others, by the peaks of now
  -- and the floors that were learned, while they last. What is too large for good
  -- goes by the configured floors and limits. Shares of calls at once shrink with
  -- their ceiling (lower.lua), or nobody else would have any of it.
  function M.reserves(N, names, lim, pk, put)
    local nC, nD, cfg = N.nC, N.nD, N.cfg
    local learned = N.fl and N.fl[1] > N.s[TS] and N.fl
    local r, prot = {}, {}
    for i = 1, nC do r[i] = {i} end
    for d = 1, nD do
      local o = 2 + (d - 1) * W
      for j = 1, nC do
        local x = (d - 1) * nC + j
        local low = learned and learned[1 + x] or -1
        prot[x] = M.protect(cfg[o + 1], cfg[o + 2], pk[x], low >= 0 and low or lim[4 * x - 3], lim[4 * x - 2])
      end
    end
    for i = 1, nC do
      for d = 1, nD do
        local o = 2 + (d - 1) * W
        local all = N.inside and N.inside[d]
        local largest = all or cfg[o + 4]
        for j = 1, nC do
          local x = (d - 1) * nC + j
          local v = lim[4 * x - 1]
          if j < i then
            v = prot[x]
            largest = largest - lim[4 * x - 3]
          elseif j > i then
            largest = largest - v
          end
          if all and cfg[o + 2] == HELD then v = floor(v * cfg[o + 4] / all) end
          r[i][1 + x] = v
        end
        local cap = lim[4 * ((d - 1) * nC + i)]
        if cap > 0 and cap < largest then largest = cap end
        r[i][1 + nD * nC + d] = largest
        if cfg[2 + nD * W + i] % 8 >= 4 or cfg[2 + nD * W + i] >= 16 then r[i][1 + nD * nC + nD + d] = cap end
      end
      put[#put + 1] = 'r:' .. names[i]
      put[#put + 1] = M.pack(r[i])
    end
    return r
  end

  function M.period(b, from, t)
    local x = from
    while x < from + 2 and t >= b[x + 1] do x = x + 1 end
    return b[x], b[x + 1]
  end

  -- calendar starts a new day or month when one has turned.
  function M.calendar(N, t)
    local s = N.s
    if t < s[DAYE] and t < s[MONE] and t >= s[DAYS] and t >= s[MONS] then return end
    local b = decode(ARGV[2])
    local day, month = s[DAYS], s[MONS]
    s[DAYS], s[DAYE] = M.period(b, 1, t)
    s[MONS], s[MONE] = M.period(b, 5, t)
    for d = 1, N.nD do
      local win = N.cfg[2 + (d - 1) * W + 2]
      if (win == DAY and s[DAYS] > day) or (win == MONTH and s[MONS] > month) then
        for i = 1, N.nC do s[M.at(N, d) + i] = 0 end
      end
    end
  end

  -- lapse ends leases: a dead holder's permit gives back what it held, while its
  -- usage stays charged. Releases of tickets lapse in pull.lua.
  function M.lapse(N, t)
    local due = call('ZRANGEBYSCORE', KEYS[4], 0, format('%d', t), 'LIMIT', 0, 500)
    for _, m in ipairs(due) do
      local id = string.sub(m, 2)
      local v = call('HGET', KEYS[3], id)
      if v then
        local name, p, nodes = M.parse(v)
        if p[4] == 1 then
          call('HDEL', KEYS[3], id)
          call('ZREM', KEYS[4], m)
        else
          M.charged(N, name, p, nodes, function(L, c, epoch) M.give(L, c, p, epoch) end)
          p[4] = 1
          call('HSET', KEYS[3], id, M.unparse(name, p, nodes))
          call('ZADD', KEYS[4], format('%d', t + KEPT), m)
        end
      end
    end
  end

  function M.rebase_leases(back)
    local held = call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES')
    for i = 1, #held, 2 do
      local at = tonumber(held[i + 1])
      call('ZADD', KEYS[4], format('%d', at < 0 and at - back or at + back), held[i])
    end
  end

  -- rebase follows a clock that was set back: everything in the sliding windows
  -- counts as used now, and leases keep the time they had left.
  function M.rebase(N, t)
    local s, names = N.s, decode(call('HGET', N.key, 'names'))
    local back = t - s[TS]
    call('HDEL', N.key, unpack(M.all_groups()))
    for i, name in ipairs(names) do
      local c = M.class(N, name)
      for d = 1, N.nD do
        local win = N.cfg[2 + (d - 1) * W + 2]
        if win == MINUTE or win == TEN then c.k[d] = s[M.at(N, d) + i] end
        c.k[N.nD + d] = 0
      end
      c.dirty = true
    end
    if not N.node then
      M.rebase_leases(back)
      if N.inplace then call('HDEL', N.key, 'inplace') end
      N.inplace = false
    end
    local tail = H + N.nD * (N.nC + 1)
    for d = 1, N.nD do s[tail + d] = -math.max(0, s[tail + d] or 0) end -- twice is long ago
    s[tail + N.nD + 1] = s[TS]
    s[COOL] = s[COOL] > 0 and math.max(0, s[COOL] + back) or 0
    s[TS], s[CUR], s[CUR10], s[PULL], s[NEXTPULL] = t, floor(t / 500), floor(t / 5000), 0, 0
    s[REBASED] = t
    N.rebased = 1
  end

  -- opens gives what each class has in the open slot, without reading the rest of it.
  function M.opens(N, names)
    local ks, f, at = {}, {}, {}
    for i, name in ipairs(names) do
      if N.cls[name] then
        ks[i] = N.cls[name].k
      else
        f[#f + 1], at[#at + 1] = 'k:' .. name, i
      end
    end
    if #f == 0 then return ks end
    for x, text in ipairs(call('HMGET', N.key, unpack(f))) do ks[at[x]] = decode(text) end
    return ks
  end

  -- roll brings the sums to the slot of t: what is older than the window leaves.
  function M.roll(N, t)
    local s, nC, nD = N.s, N.nC, N.nD
    local n, prev, n10, prev10 = floor(t / 500), s[CUR], floor(t / 5000), s[CUR10]
    local v = call('HMGET', N.key, 'names', 'cfg2', 'pk', 'fl', 'low')
    local names, lim, pk = decode(v[1]), decode(v[2]), decode(v[3])
    N.fl, N.inside = v[4] and decode(v[4]), nil
    if v[5] then
      M.lowers()
      M.ease(N, decode(v[5]), t)
    end
    for d = 1, nD do
      for i = 1, nC do
        local x = (d - 1) * nC + i
        pk[x] = M.decay(math.max(pk[x], s[M.at(N, d) + i] * 16), n - prev)
      end
    end
    local ks, moved, put = M.opens(N, names), {}, {}
    M.turn(N, MINUTE, prev, n, ks, moved)
    if n10 > prev10 then M.turn(N, TEN, prev10, n10, ks, moved) end
    for i, name in ipairs(names) do
      if moved[i] then
        put[#put + 1] = 'k:' .. name
        put[#put + 1] = M.pack(ks[i])
      end
    end
    s[CUR], s[CUR10] = n, n10
    M.calendar(N, t)
    local r = M.reserves(N, names, lim, pk, put)
    put[#put + 1] = 'pk'
    put[#put + 1] = M.pack(pk)
    call('HSET', N.key, unpack(put))
    for _, c in pairs(N.cls) do c.r = r[c.i] end
    if N.node then N.dirty, N.rolled = true, true else M.lapse(N, t) end
  end
end
