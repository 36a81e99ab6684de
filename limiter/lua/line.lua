-- line.lua: tickets. Needs base.lua and room.lua.
--
-- l:CLASS in the lane hash: the class's line,
--   waiting, released, virtual time, pace of own-time returns, weights that wait,
--   releases a second (times 1000), 8 x booked, 8 x released
-- Leaves hash: CLASS|LEAF is a leaf, #ID its name, # the last id; a leaf is
--   id, weight, revision of the weights, waiting, finish, first seq, next seq,
--   waiting at the front, 8 x booked, last release
-- Tickets hash: TICKET is (released, leaf id, seq, amounts; seq -1 at the front);
--   "\nID:CHUNK" holds 32 tickets in order, "\nID:f" those that came back to the front
-- Leases: "t"TICKET is a release, scored with the moment at which it lapses,
--   negated: so neither hides the others from who looks for what ended.
local WAITING, RELEASED, V, PACE, WEIGHTS, RATE, BOOKED, OUT = 1, 2, 3, 4, 5, 6, 6, 14
local ID, WEIGHT, REV, COUNT, FINISH, FIRST, NEXT, FRONT, LBOOKED, LAST = 1, 2, 3, 4, 5, 6, 7, 8, 8, 17
local CHUNK, RELEASE, AWAY, FAR = 32, 10000, 5000, 21600000

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
    c.l = c.l or M.zeros(22)
    c.ldirty = true
    return c.l
  end

  -- weigh multiplies the weights that are set for the leaf's levels.
  function M.weigh(leaf)
    local levels = {'organization', 'tenant', 'team', 'key', 'run', 'priority'}
    local f, i, w = {}, 0, 1
    for part in string.gmatch(leaf, '[^/]+') do
      i = i + 1
      if part ~= '-' and levels[i] then f[#f + 1] = 'w:' .. levels[i] .. '/' .. part end
    end
    if #f == 0 then return 1 end
    for _, v in ipairs(call('HMGET', KEYS[1], unpack(f))) do
      if v then w = w * v end
    end
    return math.min(w, 1000000)
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

  -- leaf gives a leaf of the class by name, made when there is none.
  function M.leaf(c, name, rev)
    local v = call('HGET', KEYS[6], c.name .. '|' .. name)
    if v then return decode(v) end
    local f = M.zeros(17)
    f[ID] = call('HINCRBY', KEYS[6], '#', 1)
    f[WEIGHT], f[REV], f[FINISH] = M.weigh(name), rev, M.line(c)[V]
    call('HSET', KEYS[6], '#' .. format('%d', f[ID]), c.name .. '|' .. name)
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
  function M.book(c, f, ticket, a)
    local l, key = M.line(c), M.chunk(f[ID], f[NEXT])
    if f[NEXT] % CHUNK == 0 then
      call('HSET', KEYS[5], key, ticket)
    else
      call('HSET', KEYS[5], key, call('HGET', KEYS[5], key) .. '\n' .. ticket)
    end
    call('HSET', KEYS[5], ticket, M.pack_ticket(0, f[ID], f[NEXT], a))
    f[NEXT] = f[NEXT] + 1
    M.count(l, f, 1)
    M.add(l, BOOKED, a, 1)
    M.add(f, LBOOKED, a, 1)
  end

  -- cost is a request's dominant share of the lane, in units of 1e-9.
  function M.cost(N, a)
    local most = 0
    for d = 1, N.nD do
      local o = 2 + (d - 1) * 5
      if N.cfg[o + 2] ~= HELD then
        most = math.max(most, floor(a[N.cfg[o + 1] + 1] * 1000000000 / N.cfg[o + 4]))
      end
    end
    return most
  end

  -- unbook takes a waiting ticket's booking back; its place in the order is
  -- skipped when it is reached.
  function M.unbook(c, f, a)
    M.count(M.line(c), f, -1)
    M.add(c.l, BOOKED, a, -1)
    M.add(f, LBOOKED, a, -1)
  end

  -- unrelease ends a release, admitted or not.
  function M.unrelease(c, ticket, a)
    local l = M.line(c)
    l[RELEASED] = math.max(0, l[RELEASED] - 1)
    M.add(l, OUT, a, -1)
    call('ZREM', KEYS[4], 't' .. ticket)
  end

  -- forward puts a released ticket back before all others of its leaf, and what
  -- its release was charged (turn and pace) goes back too.
  function M.forward(N, c, f, ticket, a, t)
    M.unrelease(c, ticket, a)
    M.advance(N, c, a, -1, t)
    local key = M.front(f[ID])
    local rest = f[FRONT] > 0 and call('HGET', KEYS[5], key)
    call('HSET', KEYS[5], key, rest and (ticket .. '\n' .. rest) or ticket)
    call('HSET', KEYS[5], ticket, M.pack_ticket(0, f[ID], -1, a))
    f[FRONT] = f[FRONT] + 1
    f[FINISH] = math.max(0, f[FINISH] - floor(M.cost(N, a) / f[WEIGHT]))
    M.count(c.l, f, 1)
    M.add(c.l, BOOKED, a, 1)
    M.add(f, LBOOKED, a, 1)
  end

  -- position is a waiting ticket's place in its leaf, from 1.
  function M.position(f, seq)
    if seq < 0 then return 1 end
    return math.max(1, math.min(f[COUNT], seq - f[FIRST] + 1 + f[FRONT]))
  end

  -- eta gives how many ms the leaf's share of the room needs for what is booked
  -- up to place pos, or, where free slots are scarcer than quota, how many the
  -- releases of late would need; the latter is believed up to ten minutes.
  function M.eta(N, c, f, pos)
    local most, l = 0, c.l
    if l[RATE] > 0 then
      most = math.min(600000, floor(pos * l[WEIGHTS] / f[WEIGHT] * 1000000 / l[RATE]))
    end
    for d = 1, N.nD do
      local o = 2 + (d - 1) * 5
      local width = M.width(N.cfg[o + 2])
      local b = f[LBOOKED + N.cfg[o + 1] + 1]
      if width and b > 0 then
        most = math.max(most, floor(b * pos / f[COUNT] * SPAN * width / M.room(N, c, d) * c.l[WEIGHTS] / f[WEIGHT]))
      end
    end
    return math.min(most, FAR)
  end

  -- pace spreads those that come back by their own countdown while nobody pulls,
  -- so that a herd never forms.
  function M.pace(N, c, a, t)
    local l, step = M.line(c), 0
    for d = 1, N.nD do
      local o = 2 + (d - 1) * 5
      local width, need = M.width(N.cfg[o + 2]), a[N.cfg[o + 1] + 1]
      if width and need > 0 then
        step = math.max(step, floor(need * SPAN * width / M.room(N, c, d)))
      end
    end
    l[PACE] = math.max(l[PACE], t + 1000) + math.min(step, FAR)
    return l[PACE]
  end

  -- admitted takes a ticket out of the line when its job got a permit.
  function M.admitted(N, c, name, ticket, tk)
    call('HDEL', KEYS[5], ticket)
    if tk.released then return M.unrelease(c, ticket, tk.a) end
    local f = M.leaf(c, name, 0)
    M.unbook(c, f, tk.a)
    f[FINISH] = math.max(f[FINISH], c.l[V]) + floor(M.cost(N, tk.a) / f[WEIGHT])
    M.put_leaf(c, name, f)
  end

  -- drop takes a ticket out of the line for good.
  function M.drop(N, ticket, tk, t)
    call('HDEL', KEYS[5], ticket)
    local c, name = M.named(N, tk.id)
    if not c then return end
    if tk.released then
      M.advance(N, c, tk.a, -1, t)
      return M.unrelease(c, ticket, tk.a)
    end
    local f = M.leaf(c, name, 0)
    M.unbook(c, f, tk.a)
    M.put_leaf(c, name, f)
  end
end
