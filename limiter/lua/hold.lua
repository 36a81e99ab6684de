-- hold.lua: what pauses, throttles and caps do (the fields are pause.lua's). Needs
-- base.lua. Nothing here is made while nothing holds and the class has no cap.

-- holds makes what is needed when something does.
function M.holds()
  if M.paused then return end
  M.lane = string.match(KEYS[2], '}:(.*):lane$')

  -- paused gives what closes a class, a leaf's run or its queue: end (-1: until
  -- lifted) and text of the pause that holds longest; nil when all are open.
  function M.paused(class, leaf, t)
    local f = {'p:' .. class}
    local run, priority = string.match(leaf, '([^/]*)/([^/]*)$')
    if run and run ~= '-' then f[2] = 'pr:' .. run end
    f[#f + 1] = 'pq:' .. M.lane .. '\n'
    if priority and priority ~= '-' then f[#f + 1] = 'pq:' .. M.lane .. '\n' .. priority end
    local longest, said
    for _, v in ipairs(call('HMGET', KEYS[1], unpack(f))) do
      if v then
        local ends, text = string.match(v, '^(%-?%d+)|(.*)$')
        ends = tonumber(ends)
        if (ends < 0 or ends > t) and (not longest or (longest >= 0 and (ends < 0 or ends > longest))) then
          longest, said = ends, text
        end
      end
    end
    return longest, said
  end

  -- leafy tells whether a run or a queue is paused.
  function M.leafy(N, t)
    if N.leafy == nil then N.leafy = M.lasts(call('HGET', KEYS[1], 'heldleaf'), t) end
    return N.leafy
  end

  -- unpaused is what the class's leaves have booked, less the paused ones: those
  -- wait for something else, and keep nobody out.
  function M.unpaused(N, c, t)
    local x = {}
    for u = 1, 8 do x[u] = c.l[BOOKED + u] end
    local all = call('HGETALL', KEYS[6])
    for i = 1, #all, 2 do
      local owner, name = string.match(all[i], '^([^#|]+)|(.*)$')
      if owner == c.name and M.paused(owner, name, t) then
        local f = decode(all[i + 1])
        for u = 1, 8 do x[u] = math.max(0, x[u] - f[LBOOKED + u]) end
      end
    end
    return x
  end

  -- ppm is the share that a throttle {end, from, to, ramp from, ramp to} leaves at t.
  function M.ppm(x, t)
    if t >= x[5] then return x[3] end
    if t < x[4] then return x[2] end
    return x[2] + floor((t - x[4]) * (x[3] - x[2]) / (x[5] - x[4]))
  end

  -- throttles reads those of a class that hold.
  function M.throttles(c, t)
    local list = {}
    local v = call('HGET', KEYS[1], 't:' .. c.name) or ''
    for ends, from, to, first, last, text in string.gmatch(v, '(%-?%d+)|(%d+)|(%d+)|(%d+)|(%d+)|([^\n]*)') do
      ends = tonumber(ends)
      if ends < 0 or ends > t then
        list[#list + 1] = {ends, tonumber(from), tonumber(to), tonumber(first), tonumber(last), text}
      end
    end
    return list
  end

  -- ceilings works out tops, the most that the class may use of each dim (false:
  -- all), and tells, whose word that is.
  function M.ceilings(N, c)
    local t, least, text = N.s[TS], 1000000, nil
    c.slow = N.held and M.throttles(c, t) or {}
    for _, x in ipairs(c.slow) do
      local p = M.ppm(x, t)
      if p < least then least, text = p, x[6] end
    end
    c.least = least
    if not text and not c.capped then return end
    c.tops, c.tells = {}, {}
    for d = 1, N.nD do
      local o, top, by = 2 + (d - 1) * W, false, nil
      if N.cfg[o + 2] <= TEN then
        if c.capped then top, by = c.r[1 + N.nD * N.nC + N.nD + d], 'cap of ' .. c.name end
        if text then
          local inside = N.cfg[o + 4]
          local x = floor(inside / 1000000) * least + floor(inside % 1000000 * least / 1000000)
          if not top or x < top then top, by = x, text end
        end
      end
      c.tops[d], c.tells[d] = top, by
    end
  end

  -- eases is the first moment at which the class's throttles leave need of dim d:
  -- by a ramp, or by their end; nil when nobody knows.
  function M.eases(N, c, d, need)
    local t, at = N.s[TS], 0
    if c.capped and need > c.r[1 + N.nD * N.nC + N.nD + d] then return nil end
    local ppm = math.ceil(need * 1000000 / N.cfg[2 + (d - 1) * W + 4])
    for _, x in ipairs(c.slow) do
      if M.ppm(x, t) < ppm then
        local one = math.max(0, x[1])
        if x[5] > 0 and x[3] >= ppm and x[3] > x[2] then
          local up = x[4] + math.ceil((ppm - x[2]) * (x[5] - x[4]) / (x[3] - x[2]))
          one = one > 0 and math.min(one, up) or up
        end
        if one == 0 then return nil end
        at = math.max(at, one)
      end
    end
    return at > 0 and at or nil
  end
end
