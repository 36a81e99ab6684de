-- room.lua: whether a cost fits, and when it will. Needs base.lua.

-- lacks gives what is missing for need more in dim d, 0 or less when it fits;
-- what is in use; what the limit itself lacks; and the ceiling, where that is what
-- binds. What callers of the classes above wait for in place is theirs. A class may always use its trickle, if the limit itself has room. A call
-- that is alone in the class's window passes a throttle that it is larger than:
-- it is slow then, not stuck.
function M.lacks(N, c, d, need, alone)
  local others, own, all, free = M.share(N, c, d)
  if N.inplace then others = others + M.wanted(N, c, d) end
  local short, over = others + own + need - free, all + need - free
  if short > 0 and own + need <= c.r[1 + (d - 1) * N.nC + c.i] then short = over end
  local tops = c.tops
  if tops == nil then tops = M.bind(N, c) end
  if tops and tops[d] then
    local above = own + need - tops[d]
    if above > 0 and above > short and not (alone and own == 0 and c.least > 0) then return above, own, 0, tops[d] end
  end
  return short, all, over
end

-- fits tests amounts a beside what is set aside in x and y (by unit, or nil). It
-- gives nil, or a refusal {d, reason, used, short, need, -, ceiling, alone}.
function M.fits(N, c, a, x, y)
  local worst, most, cfg, o = nil, -1, N.cfg, 2 - W
  for d = 1, N.nD do
    o = o + W
    local unit = cfg[o + 1] + 1
    local amount = a[unit]
    if amount > 0 and cfg[o + 6] == 0 then
      local need = amount
      if x then need = need + x[unit] end
      if y then need = need + y[unit] end
      local short, used, over, top = M.lacks(N, c, d, need, need == amount)
      if short > 0 then
        M.waits()
        local w = M.weight(N, d, short)
        if w > most then
          worst, most = {d, over > 0 and 'quota' or 'share', used, short, need, 0, top, need == amount, N, c, w}, w
        end
      end
    end
  end
  return worst
end

-- too_large gives the limit that the request could not fit even alone.
function M.too_large(N, c, a)
  local cfg, r, o, first = N.cfg, c.r, 2, 1 + N.nD * N.nC
  for d = 1, N.nD do
    local need, most = a[cfg[o + 1] + 1], r[first + d]
    if need > most and cfg[o + 6] == 0 then return {d, 'too_large', 0, need - most, 0, 0, false, false, N, c, 0}, most end
    o = o + W
  end
end

-- smooth tests the class's pace, before the cost is added: no more than 1.1
-- times its even use of the room, half a second before or behind.
function M.smooth(N, c, a, t)
  if not c.smooth then return nil end
  for d = 1, N.nD do
    local o = 2 + (d - 1) * W
    local need = a[N.cfg[o + 1] + 1]
    if N.cfg[o + 2] == MINUTE and need > 0 and N.cfg[o + 6] == 0 then
      local pace = c.k[N.nD + d]
      if pace >= (t + SLACK) * 1000 then
        return {d, 'smoothing', N.s[M.at(N, d) + c.i], 0, need, floor(pace / 1000) + 1 - SLACK, false, false, N, c, 0}
      end
    end
  end
end

-- advance moves the class's pace on by amounts, or back.
function M.advance(N, c, a, sign, t)
  if not c.smooth then return end
  for d = 1, N.nD do
    local o = 2 + (d - 1) * W
    local need = a[N.cfg[o + 1] + 1]
    if N.cfg[o + 2] == MINUTE and need > 0 and N.cfg[o + 6] == 0 then
      local j = N.nD + d
      c.k[j] = math.max(c.k[j], (t - SLACK) * 1000) + sign * M.step(N, c, d, need)
    end
  end
  c.dirty, N.dirty = true, true
end

-- advance_all is advance of a class at the lane and at the nodes of a path.
function M.advance_all(c, path, a, sign)
  M.advance(c.N, c, a, sign, c.N.s[TS])
  for _, nc in ipairs(path) do M.advance(nc.N, nc, a, sign, nc.N.s[TS]) end
end

-- waits makes what only refusals need.
function M.waits()
  if M.when then return end
  M.ends()

  -- weight orders refusals: the rule that will hold longest is the answer.
  function M.weight(N, d, short)
    local o = 2 + (d - 1) * W
    local win = N.cfg[o + 2]
    if M.counted(win) then return 1000000000000 * win end
    return floor(short * 1000000 / N.cfg[o + 4])
  end

  -- frees gives the moment at which enough slots have left dim d for need to fit.
  function M.frees(N, c, d, need, alone)
    local win, s, nC = N.cfg[2 + (d - 1) * W + 2], N.s, N.nC
    local now, width, o = s[CUR], M.width(win), M.at(N, d)
    if win == TEN then now = s[CUR10] end
    local ranks, count = M.ranks(N, win)
    local kept = {}
    for j = 1, nC do kept[j] = s[o + j] end
    local slots = M.used_in(N, win, now - SPAN + 1, now - 1)
    local found = (now + SPAN) * width
    for m = 1, SPAN - 1 do
      local any, v = false, slots[now - SPAN + m]
      if v then
        for j = 1, nC do
          local x = v[(j - 1) * count + ranks[d]]
          if kept[j] > 0 and x > 0 then s[o + j], any = math.max(0, s[o + j] - x), true end
        end
      end
      if any and M.lacks(N, c, d, need, alone) <= 0 then
        found = (now - SPAN + m + SPAN) * width
        break
      end
    end
    for j = 1, nC do s[o + j] = kept[j] end
    return found
  end

  -- when gives the moment at which a refusal by room or smoothing ends.
  function M.when(no, t)
    local d, reason, N, c = no[1], no[2], no[9], no[10]
    if reason == 'smoothing' then return no[6] end
    local win = N.cfg[2 + (d - 1) * W + 2]
    if win == DAY then return N.s[DAYE] end
    if win == MONTH then return N.s[MONE] end
    if win == HELD then return t + 1000 end
    if win == EVER then return t + RAISED end
    local freed = M.frees(N, c, d, no[5], no[8])
    if no[7] then
      local eased = M.eases(N, c, d, no[3] + no[5])
      if eased then return math.max(t + 1000, math.min(freed, eased)) end
    end
    return freed
  end
end
