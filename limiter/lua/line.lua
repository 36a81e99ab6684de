-- line.lua: tickets. Needs base.lua and room.lua.
--
-- l:CLASS in a ledger's hash: the class's line,
--   waiting, released, virtual time, pace of own-time returns, weights that wait,
--   how many got away a second (times 1000000), 8 x booked, 8 x released, how many
--   were admitted without a release since the last pass, ms over which that was seen
--   (a node's has only waiting, released, booked and released, of all its lanes, and
--   as its third number the revision of the configuration that they are of)
-- Leaves hash: CLASS|LEAF is a leaf, #ID its name, # the last id, @ID its feature
--   and the nodes with limits on its way, one a line; a leaf is
--   id, weight, revision of the configuration, waiting, finish, first seq, next seq,
--   waiting at the front, 8 x booked, last release, share in ppm
-- Tickets hash: TICKET is (released, leaf id, seq, amounts; seq below 0 at the front:
--   -1 less the releases that nobody came for);
--   "\nID:CHUNK" holds 32 tickets in order, "\nID:f" those that came back to the front
-- Leases: "t"TICKET is a release, scored with the moment at which it lapses,
--   negated: so neither hides the others from who looks for what ended.
local WAITING, RELEASED, V, PACE, WEIGHTS, RATE, BOOKED, OUT, PASSED, SEEN = 1, 2, 3, 4, 5, 6, 6, 14, 23, 24
local ID, WEIGHT, REV, COUNT, FINISH, FIRST, NEXT, FRONT, LBOOKED, LAST, SHARE = 1, 2, 3, 4, 5, 6, 7, 8, 8, 17, 18
local CHUNK, RELEASE, AWAY, FAR, RATED, LAPSES, DAYMS = 32, 10000, 5000, 21600000, 64000, 12, 86400000
local FRESH, CALL, GUESS = 10000, 20000, 600000

-- lines makes the functions of tickets.
function M.lines()
  if M.add then return end
  M.waits()

  function M.add(t, offset, a, sign)
    for u = 1, 8 do t[offset + u] = math.max(0, t[offset + u] + sign * a[u]) end
  end

  function M.slice(t, offset)
    local x = {}
    for u = 1, 8 do x[u] = t[offset + u] end
    return x
  end

  function M.line(c)
    if not c.l then
      c.l = M.zeros(24)
      if c.N.node then c.l[OFREV] = M.rev end
    end
    c.ldirty, c.N.dirty = true, true
    return c.l
  end

  -- know reads what the lines must know of the configuration.
  function M.know()
    local v = call('HMGET', KEYS[1], 'nodes', 'wrev')
    M.noded, M.rev = v[1], tonumber(v[2] or '0')
  end

  -- level gives what a leaf's levels weigh, from the organization down.
  function M.level(leaf)
    M.weights = M.weights or decode(call('HGET', KEYS[1], 'weights') or '{}')
    local kinds, i, parts, w = {'organization', 'tenant', 'team', 'key', 'run', 'priority'}, 0, {}, {}
    for part in string.gmatch(leaf, '[^/]+') do
      i = i + 1
      if kinds[i] then parts[i], w[i] = part, part ~= '-' and M.weights[kinds[i] .. '/' .. part] or 1 end
    end
    return parts, w
  end

  -- weigh multiplies the weights of the leaf's levels.
  function M.weigh(leaf)
    local product = 1
    for _, w in ipairs(select(2, M.level(leaf))) do product = product * w end
    return math.min(product, 1000000)
  end

  -- along gives the nodes with limits that a leaf's tickets stand in line at too.
  function M.along(c, f)
    M.paths = M.paths or {}
    local list = M.paths[f[ID]]
    if list then return list end
    list = {}
    if M.noded then
      local v = call('HGET', KEYS[6], '@' .. format('%d', f[ID]))
      local names = v and string.match(v, '^[^\n]*\n(.+)$')
      if names then
        M.nodes()
        list = M.path(c.N, names, c.name)
      end
    end
    M.paths[f[ID]] = list
    return list
  end

  -- stand changes by what tickets stand for in the lines of the nodes along.
  -- A leaf that has not followed the newest configuration yet stands nowhere.
  function M.stand(c, f, which, offset, a, by, n)
    if f[REV] ~= M.rev then return end
    for _, nc in ipairs(M.along(c, f)) do
      local l = M.line(nc)
      l[which] = math.max(0, l[which] + by * n)
      M.add(l, offset, a, by)
      if l[WAITING] == 0 and l[RELEASED] == 0 then nc.l = nil end
    end
  end

  -- ticket is one entry of the tickets hash; trailing zeros are left out.
  function M.pack_ticket(released, id, seq, a)
    local t, last = {released, id, seq}, 0
    for u = 1, 8 do
      if a[u] > 0 then last = u end
    end
    for u = 1, last do t[3 + u] = a[u] end
    return M.pack(t)
  end

  function M.read_ticket(name)
    local v = call('HGET', KEYS[5], name)
    if not v then return nil end
    local x = decode(v)
    local a = {}
    for u = 1, 8 do a[u] = x[3 + u] or 0 end
    return {released = x[1] == 1, id = x[2], seq = x[3], a = a}
  end

  -- leaf gives a leaf of the class by name, made for request q when there is none.
  function M.leaf(c, name, rev, q)
    local v = call('HGET', KEYS[6], c.name .. '|' .. name)
    if v then
      local f = decode(v)
      f[SHARE] = f[SHARE] or 1000000
      return f
    end
    local f, l = M.zeros(18), M.line(c)
    local id = call('HINCRBY', KEYS[6], '#', 1)
    f[ID], f[WEIGHT], f[REV], f[FINISH] = id, M.weigh(name), rev, l[V]
    f[SHARE] = math.max(1, floor(1000000 * f[WEIGHT] / (l[WEIGHTS] + f[WEIGHT])))
    call('HSET', KEYS[6], '#' .. format('%d', id), c.name .. '|' .. name)
    if q and (q.feature ~= '' or q.names ~= '') then
      call('HSET', KEYS[6], '@' .. format('%d', id), q.feature .. '\n' .. q.names)
    end
    return f
  end

  function M.put_leaf(c, name, f) call('HSET', KEYS[6], c.name .. '|' .. name, M.pack(f)) end

  -- named gives class and leaf of a ticket.
  function M.named(N, id)
    local v = call('HGET', KEYS[6], '#' .. format('%d', id))
    if not v then return nil end
    local name, rest = string.match(v, '^(.-)|(.*)$')
    return M.class(N, name), rest
  end

  -- count changes how many wait in a leaf, and with it the weights that wait.
  function M.count(l, f, by)
    if f[COUNT] == 0 and by > 0 then l[WEIGHTS] = l[WEIGHTS] + f[WEIGHT] end
    f[COUNT], l[WAITING] = f[COUNT] + by, l[WAITING] + by
    if f[COUNT] == 0 and by < 0 then l[WEIGHTS] = math.max(0, l[WEIGHTS] - f[WEIGHT]) end
  end

  function M.chunk(id, seq) return format('\n%d:%d', id, floor(seq / CHUNK)) end
  function M.front(id) return format('\n%d:f', id) end

  -- book puts a newcomer at the end of its leaf's line.
  function M.book(N, c, f, ticket, a)
    local l, key = M.line(c), M.chunk(f[ID], f[NEXT])
    if f[NEXT] % CHUNK == 0 then
      call('HSET', KEYS[5], key, ticket)
    else
      call('HSET', KEYS[5], key, call('HGET', KEYS[5], key) .. '\n' .. ticket)
    end
    call('HSET', KEYS[5], ticket, M.pack_ticket(0, f[ID], f[NEXT], a))
    f[NEXT] = f[NEXT] + 1
    M.enter(c, f, a)
  end

  -- enter counts a ticket among those that wait.
  function M.enter(c, f, a)
    M.count(M.line(c), f, 1)
    M.add(c.l, BOOKED, a, 1)
    M.add(f, LBOOKED, a, 1)
    M.stand(c, f, WAITING, BOOKED, a, 1, 1)
  end

  -- cost is a request's dominant share of the lane, in units of 1e-9. It is never
  -- nothing: where only calls at once are limited, turns must go round all the same.
  function M.cost(N, a)
    local most = 1000
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      if N.cfg[o + 2] ~= HELD and N.cfg[o + 6] == 0 then
        most = math.max(most, floor(a[N.cfg[o + 1] + 1] * 1000000000 / N.cfg[o + 4]))
      end
    end
    return most
  end

  -- turn_cost is what a cost adds to a leaf's finish: by its share of the lane.
  function M.turn_cost(N, f, a) return floor(M.cost(N, a) * 1000000 / f[SHARE]) end

  -- unbook takes a waiting ticket's booking back; its place in the order is
  -- skipped when it is reached.
  function M.unbook(c, f, a)
    M.count(M.line(c), f, -1)
    M.add(c.l, BOOKED, a, -1)
    M.add(f, LBOOKED, a, -1)
    M.stand(c, f, WAITING, BOOKED, a, -1, 1)
  end

  -- unrelease ends a release, admitted or not.
  function M.unrelease(c, f, ticket, a)
    local l = M.line(c)
    l[RELEASED] = math.max(0, l[RELEASED] - 1)
    M.add(l, OUT, a, -1)
    M.stand(c, f, RELEASED, OUT, a, -1, 1)
    call('ZREM', KEYS[4], 't' .. ticket)
  end

  -- forward puts a released ticket back before all others of its leaf, and what
  -- its release was charged (turn and pace) goes back too.
  function M.forward(N, c, f, ticket, a, seq)
    M.unrelease(c, f, ticket, a)
    M.advance_all(c, M.along(c, f), a, -1)
    local key = M.front(f[ID])
    local rest = f[FRONT] > 0 and call('HGET', KEYS[5], key)
    call('HSET', KEYS[5], key, rest and (ticket .. '\n' .. rest) or ticket)
    call('HSET', KEYS[5], ticket, M.pack_ticket(0, f[ID], seq, a))
    f[FRONT] = f[FRONT] + 1
    f[FINISH] = math.max(0, f[FINISH] - M.turn_cost(N, f, a))
    M.enter(c, f, a)
  end

  -- position is a waiting ticket's place in its leaf, from 1.
  function M.position(f, seq)
    if seq < 0 then return 1 end
    return math.max(1, math.min(f[COUNT], seq - f[FIRST] + 1 + f[FRONT]))
  end

  -- drains gives how many ms a ledger needs for the part pos/COUNT of amounts
  -- booked[offset+1..], of which it leaves them the share ppm.
  function M.drains(c, f, pos, booked, offset, share)
    local N, most = c.N, 0
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      local width = M.width(N.cfg[o + 2])
      local b = booked[offset + N.cfg[o + 1] + 1]
      if width and b > 0 and N.cfg[o + 6] == 0 then
        most = math.max(most, floor(b * pos / f[COUNT] * SPAN * width / M.room(N, c, d) * 1000000 / share))
      end
    end
    return most
  end

  -- eta gives how many ms the leaf's share of the room needs for what is booked up
  -- to place pos; or a node on its way, for all that is booked there; or, where free
  -- slots are scarcer than quota, how many the pace of late would need.
  function M.eta(N, c, f, pos)
    local most, l = 0, c.l
    if l[RATE] > 0 then
      most = floor(pos * 1000000 / f[SHARE] * 1000000000 / l[RATE])
    end
    most = math.max(most, M.drains(c, f, pos, f, LBOOKED, f[SHARE]))
    for _, nc in ipairs(M.along(c, f)) do
      most = math.max(most, M.drains(nc, f, pos, nc.l or M.zeros(24), BOOKED, 1000000))
    end
    return math.min(most, FAR)
  end

  -- turns gives the first and the last turn of a ledger's days and months that the
  -- ticket at place pos of its leaf must wait for, 0 for none, and which part of what
  -- is booked before it has its turn afterwards. The leaf has the share ppm of what
  -- is left.
  function M.turns(c, f, pos, booked, offset, share)
    local N, first, last, rest = c.N, 0, 0, 1
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      local unit, win = N.cfg[o + 1], N.cfg[o + 2]
      local b = booked[offset + unit + 1]
      if (win == DAY or win == MONTH) and b > 0 and N.cfg[o + 6] == 0 then
        local need = b * pos / f[COUNT] * 1000000 / share
        local left = math.max(0, M.room(N, c, d) - N.s[M.at(N, d) + c.i] - (c.l and c.l[OUT + unit + 1] or 0))
        if need > left then
          local ends, more = N.s[win == DAY and DAYE or MONE], 0
          if win == DAY then more = floor((need - left) / N.cfg[o + 4]) end
          if ends + more * DAYMS > last then
            first, last, rest = ends, ends + more * DAYMS, (need - left) / need
          end
        end
      end
    end
    return first, last, rest
  end

  -- turns_before is turns of the lane, or of a node on the leaf's way that waits longer.
  function M.turns_before(c, f, pos)
    local first, last, rest = M.turns(c, f, pos, f, LBOOKED, f[SHARE])
    for _, nc in ipairs(M.along(c, f)) do
      if nc.l then
        local x, y, z = M.turns(nc, f, pos, nc.l, BOOKED, 1000000)
        if y > last then first, last, rest = x, y, z end
      end
    end
    return first, last, rest
  end

  -- holds_for guesses the same from what may be held at a time (calls in flight, taken to
  -- last twenty seconds), while nothing else is known of a line: so that not all of a long
  -- one come back soon.
  function M.holds_for(c, f, pos)
    local N, most = c.N, 0
    if (c.l[SEEN] or 0) >= FRESH then return 0 end
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      local b = f[LBOOKED + N.cfg[o + 1] + 1]
      if N.cfg[o + 2] == HELD and b > 0 and N.cfg[o + 6] == 0 then
        most = math.max(most, floor(b * pos / f[COUNT] * CALL / M.room(N, c, d) * 1000000 / f[SHARE]))
      end
    end
    return math.min(most, GUESS)
  end

  -- paced gives how many ms amounts last in a ledger's room.
  function M.paced(c, a)
    local N, step = c.N, 0
    for d = 1, N.nD do
      local o = 2 + (d - 1) * W
      local width, need = M.width(N.cfg[o + 2]), a[N.cfg[o + 1] + 1]
      if width and need > 0 and N.cfg[o + 6] == 0 then
        step = math.max(step, floor(need * SPAN * width / M.room(N, c, d)))
      end
    end
    return step
  end

  -- pace spreads those that come back by their own countdown while nobody pulls,
  -- so that a herd never forms.
  function M.pace(N, c, f, a, t)
    local l, step = M.line(c), M.paced(c, a)
    for _, nc in ipairs(M.along(c, f)) do step = math.max(step, M.paced(nc, a)) end
    l[PACE] = math.max(l[PACE], t + 1000) + math.min(step, FAR)
    return l[PACE]
  end

  -- admitted takes a ticket out of the line when its job got a permit.
  function M.admitted(N, c, name, ticket, tk)
    call('HDEL', KEYS[5], ticket)
    local f = (M.noded or not tk.released) and M.leaf(c, name, 0) or {tk.id}
    if tk.released then return M.unrelease(c, f, ticket, tk.a) end
    M.unbook(c, f, tk.a)
    f[FINISH] = math.max(f[FINISH], c.l[V]) + M.turn_cost(N, f, tk.a)
    M.put_leaf(c, name, f)
  end

  -- drop takes a ticket out of the line for good.
  function M.drop(N, ticket, tk)
    call('HDEL', KEYS[5], ticket)
    local c, name = M.named(N, tk.id)
    if not c then return end
    local f = M.leaf(c, name, 0)
    if tk.released then
      M.advance_all(c, M.along(c, f), tk.a, -1)
      return M.unrelease(c, f, ticket, tk.a)
    end
    M.unbook(c, f, tk.a)
    M.put_leaf(c, name, f)
  end
end
