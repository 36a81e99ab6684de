-- pull.lua: one pass over the lines of a lane: releases the next tickets that fit.
--
-- ARGV[3] how many may be released
-- A pass is made every 0.5 s; earlier when the last one ended for want of slots.
-- Returns {alert, now, 1 if the pass was made, then ticket and leaf by turns}.
-- {-1, now} when the lane has no limits.
local EVERY, SOON = 500, 50

-- head gives the ticket that is next in a leaf; places that were given back are skipped.
function M.head(e)
  local f, id = e.f, e.f[ID]
  while f[COUNT] > 0 do
    local name
    if f[FRONT] > 0 then
      e.front = e.front or call('HGET', KEYS[5], M.front(id))
      name = string.match(e.front, '^[^\n]+')
    else
      if f[FIRST] >= f[NEXT] then return nil end
      if not e.chunk then
        e.chunk = {}
        for x in string.gmatch(call('HGET', KEYS[5], M.chunk(id, f[FIRST])), '[^\n]+') do e.chunk[#e.chunk + 1] = x end
      end
      name = e.chunk[f[FIRST] % CHUNK + 1]
    end
    local tk = M.read_ticket(name)
    local seq = f[FRONT] > 0 and -1 or f[FIRST]
    if tk and not tk.released and tk.id == id and tk.seq == seq then return name, tk end
    e.advance()
  end
end

-- entry is a leaf in this pass; advance leaves the head's place behind.
function M.entry(c, name, v)
  local e = {name = name, f = decode(v)}
  function e.advance()
    local f = e.f
    e.dirty = true
    if f[FRONT] > 0 then
      local rest = string.match(e.front, '\n(.+)$')
      f[FRONT], e.front = f[FRONT] - 1, rest
      if rest then call('HSET', KEYS[5], M.front(f[ID]), rest) else call('HDEL', KEYS[5], M.front(f[ID])) end
      return
    end
    if (f[FIRST] + 1) % CHUNK == 0 then
      call('HDEL', KEYS[5], M.chunk(f[ID], f[FIRST]))
      e.chunk = nil
    end
    f[FIRST] = f[FIRST] + 1
  end
  return e
end

-- next_leaf is the one that waits with the smallest virtual start.
function M.next_leaf(l, entries)
  local best, least
  for _, e in ipairs(entries) do
    if e.f[COUNT] > 0 then
      local start = math.max(e.f[FINISH], l[V])
      if not best or start < least or (start == least and e.f[ID] < best.f[ID]) then best, least = e, start end
    end
  end
  return best, least
end

-- release lets leaves' heads go until one does not fit: then the whole pass
-- stops, so that room gathers for it and large jobs do not starve.
function M.release(N, c, entries, slots, t, out)
  local l = M.line(c)
  while slots > 0 do
    local e, start = M.next_leaf(l, entries)
    if not e then return slots end
    local name, tk = M.head(e)
    if name then
      local x = M.slice(l, OUT)
      if M.fits(N, c, tk.a, x) or M.smooth(N, c, tk.a, t) then return slots end
      local f = e.f
      l[V], f[FINISH] = start, start + floor(M.cost(N, tk.a) / f[WEIGHT])
      f[LAST], e.dirty = t, true
      M.unbook(c, f, tk.a)
      l[RELEASED] = l[RELEASED] + 1
      M.add(l, OUT, tk.a, 1)
      M.advance(N, c, tk.a, 1, t)
      call('HSET', KEYS[5], name, M.pack_ticket(1, tk.id, tk.seq, tk.a))
      call('ZADD', KEYS[4], format('%d', -t - RELEASE), 't' .. name)
      e.advance()
      slots = slots - 1
      out[#out + 1] = name
      out[#out + 1] = e.name
    elseif e.f[COUNT] > 0 then
      -- nothing is left in the order: what was counted is lost, so it is forgotten
      M.count(l, e.f, -e.f[COUNT])
      e.dirty = true
    end
  end
  return slots
end

function M.forget(c, e)
  local f, gone = e.f, {'#' .. format('%d', e.f[ID]), c.name .. '|' .. e.name}
  call('HDEL', KEYS[6], unpack(gone))
  for i = floor(f[FIRST] / CHUNK), floor(f[NEXT] / CHUNK) do call('HDEL', KEYS[5], M.chunk(f[ID], i * CHUNK)) end
  call('HDEL', KEYS[5], M.front(f[ID]))
end

-- lapsed puts releases that nobody came for back to the front of their lines.
function M.lapsed(N, t)
  for _, m in ipairs(call('ZREVRANGEBYSCORE', KEYS[4], '(0', format('%d', -t), 'LIMIT', 0, 1000)) do
    local ticket = string.sub(m, 2)
    local tk = M.read_ticket(ticket)
    local c, name
    if tk then c, name = M.named(N, tk.id) end
    if c and tk.released then
      local f = M.leaf(c, name, 0)
      M.forward(N, c, f, ticket, tk.a, t)
      M.put_leaf(c, name, f)
    else
      call('ZREM', KEYS[4], m)
    end
  end
end

-- pass is a class's part of the pull. Leaves that are paused wait for something
-- else: they are passed over.
function M.pass(N, c, leaves, rev, slots, t, out, closed, leafy)
  local entries, open, l = {}, {}, M.line(c)
  for i = 1, #leaves, 2 do
    local owner, name = string.match(leaves[i], '^([^#|]+)|(.*)$')
    if owner == c.name then
      local e = M.entry(c, name, leaves[i + 1])
      if e.f[REV] ~= rev then
        local before, w = e.f[WEIGHT], M.weigh(name)
        if e.f[COUNT] > 0 then l[WEIGHTS] = l[WEIGHTS] - before + w end
        e.f[WEIGHT], e.f[REV], e.dirty = w, rev, true
      end
      entries[#entries + 1] = e
      if not (leafy and M.paused(owner, name, t)) then open[#open + 1] = e end
    end
  end
  if not closed then
    local n = slots
    slots = M.release(N, c, open, slots, t, out)
    if N.since <= AWAY then
      local rate = (n - slots) * 1000000 / N.since
      l[RATE] = floor(l[RATE] == 0 and rate or (l[RATE] * 15 + rate) / 16)
    end
  end
  local idle = l[WAITING] == 0 and l[RELEASED] == 0
  for _, e in ipairs(entries) do
    local f = e.f
    if f[COUNT] == 0 and (idle or (f[FINISH] <= l[V] and t - f[LAST] > RELEASE + 1000)) then
      M.forget(c, e)
    elseif e.dirty then
      M.put_leaf(c, e.name, f)
    end
  end
  if idle then
    call('HDEL', KEYS[2], 'l:' .. c.name)
    c.l, c.ldirty = false, false
  end
  return slots
end

function M.closed(N, c, t) return N.s[COOL] > t or (N.held and M.paused(c.name, '', t)) end

M.lines()
local N, t = M.open('')
if not N then return {-1, t} end
local slots, out = tonumber(ARGV[3]), {N.rebased, t, 0}
if slots <= 0 or t < N.s[NEXTPULL] then
  M.save(N)
  return out
end
out[3], N.since, N.s[PULL] = 1, t - N.s[PULL], t
M.lapsed(N, t)
local names, leaves, leafy = decode(call('HGET', KEYS[2], 'names')), nil, false
local v = call('HMGET', KEYS[1], 'held', 'wrev')
local rev = tonumber(v[2] or '0')
N.held = v[1] and M.lasts(v[1], t)
if N.held then
  M.holds()
  leafy = M.leafy(N, t)
end
for _, name in ipairs(names) do
  local c = M.class(N, name)
  if c.l then
    leaves = leaves or call('HGETALL', KEYS[6])
    slots = M.pass(N, c, leaves, rev, slots, t, out, M.closed(N, c, t), leafy)
  end
end
-- a pass that ended for want of slots is followed by another as soon as there are some
N.s[NEXTPULL] = t + (slots == 0 and SOON or EVERY)
M.save(N)
return out
