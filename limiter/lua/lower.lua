-- lower.lua: how far feedback keeps limits below what is configured. Needs
-- base.lua; nothing of it is made while nothing is lowered.
--
-- The field low of a lane's hash, absent while nothing is lowered, has seven
-- numbers for each limit that is: unit, window, limit, limit less outside; what is
-- taken off in ppm (of calls at once: how many may be), the moment of that, and
-- the moment of the last cut. cfg has what is left of the limit.

local CREEP = 6 -- ms in which one ppm comes back: a hundredth in a minute
local RISE = 1000 -- ms for one call more at once
local FORGET = 600000 -- ms after the last cut calls at once are not bound any more

-- lowers makes what is needed while a limit is lowered.
function M.lowers()
  if M.ease then return end

  -- part is ppm of an amount, rounded down.
  function M.part(amount, ppm) return floor(amount / 1000000) * ppm + floor(amount % 1000000 * ppm / 1000000) end

  -- place finds a limit in cfg.
  function M.place(N, unit, win)
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      if N.cfg[o + 1] == unit and N.cfg[o + 2] == win then return d, o end
    end
  end

  -- everybody is what all classes use of dim d.
  function M.everybody(N, d)
    local used = 0
    for i = 1, N.nC do used = used + N.s[M.at(N, d) + i] end
    return used
  end

  -- off is what is taken off the limit at x of low, in ppm, at t.
  function M.off(low, x, t) return math.max(0, low[x + 4] - floor(math.max(0, t - low[x + 5]) / CREEP)) end

  -- left is what is left of the limit at x of low; nil when that is all of it.
  function M.left(low, x, t)
    if low[x + 1] == HELD then
      if low[x + 4] < low[x + 3] and t - low[x + 6] < FORGET then return low[x + 4] end
      return nil
    end
    local off = M.off(low, x, t)
    if off > 0 then return low[x + 3] - M.part(low[x + 3], off) end
  end

  -- rise lets one call more at once for a second in which most that may be are.
  function M.rise(N, d, low, x, t)
    if low[x + 1] == HELD and t - low[x + 5] >= RISE and M.everybody(N, d) * 10 >= low[x + 4] * 6 then
      low[x + 4], low[x + 5] = low[x + 4] + 1, t
    end
  end

  -- insides finds what limits less outside are without feedback, for reserves.
  function M.insides(N)
    local low = decode(call('HGET', N.key, 'low') or '[]')
    N.inside = {}
    for x = 1, #low, 7 do
      local d = M.place(N, low[x], low[x + 1])
      if d then N.inside[d] = low[x + 3] end
    end
  end

  -- ease lets limits come back. A limit that was changed is not lowered any more.
  function M.ease(N, low, t)
    local kept = {}
    N.inside = {}
    for x = 1, #low, 7 do
      local d, o = M.place(N, low[x], low[x + 1])
      if d and N.cfg[o + 3] == low[x + 2] then
        if low[x + 5] > t then low[x + 5], low[x + 6] = t, t end -- the clock was set back
        M.rise(N, d, low, x, t)
        local left = M.left(low, x, t)
        N.inside[d], N.cfg[o + 4] = low[x + 3], left or low[x + 3]
        for i = x, left and x + 6 or 0 do kept[#kept + 1] = low[i] end
      end
    end
    call('HSET', N.key, 'cfg', M.pack(N.cfg))
    if #kept > 0 then call('HSET', N.key, 'low', M.pack(kept)) else call('HDEL', N.key, 'low') end
  end
end
