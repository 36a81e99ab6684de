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
    local fits = tk and (f[FRONT] > 0 and tk.seq < 0 or f[FRONT] == 0 and tk.seq == f[FIRST])
    if fits and not tk.released and tk.id == id then return name, tk end
    e.advance()
  end
end

-- entry is a leaf in this pass; advance leaves the head's place behind.
function M.entry(c, name, v)
  local e = {name = name, f = decode(v)}
  e.f[SHARE] = e.f[SHARE] or 1000000
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
    if e.f[COUNT] > 0 and not e.skipped then
      local start = math.max(e.f[FINISH], l[V])
      if not best or start < least or (start == least and e.f[ID] < best.f[ID]) then best, least = e, start end
    end
  end
  return best, least
end

-- tree lists, for each leaf that waits, what it weighs among which others: level by
-- level, with run and priority as one, so that a tenant gets no more for more runs.
function M.tree(entries)
  local sums, seen = {}, {}
  for _, e in ipairs(entries) do
    if e.f[COUNT] > 0 then
      local parts, w = M.level(e.name)
      local up, parent = {}, ''
      w[5], parts[5] = (w[5] or 1) * (w[6] or 1), (parts[5] or '') .. '/' .. (parts[6] or '')
      for i = 1, 5 do
        local child = parent .. (parts[i] or '-') .. '/'
        if not seen[child] then seen[child], sums[parent] = true, (sums[parent] or 0) + (w[i] or 1) end
        up[i], parent = {w[i] or 1, parent}, child
      end
      e.up = up
    end
  end
  return sums
end

-- share_out gives each leaf that waits its part of what all of them get.
function M.share_out(entries)
  local sums = M.tree(entries)
  for _, e in ipairs(entries) do
    if e.up then
      local share = 1000000
      for i = 1, 5 do share = share * e.up[i][1] / sums[e.up[i][2]] end
      share = math.max(1, floor(share))
      if share ~= e.f[SHARE] then e.f[SHARE], e.dirty = share, true end
    end
  end
end

-- never_fits tells whether a limit became smaller than a job that waits: it is let
-- go, to hear that it is too large, and holds nobody up.
function M.never_fits(N, c, e, a)
  if M.too_large(N, c, a) then return true end
  for _, nc in ipairs(M.along(c, e.f)) do
    if M.too_large(nc.N, nc, a) then return true end
  end
end

-- blocked tells whether a node on the leaf's way has no room for its head: then
-- all that go by that node wait in this pass, so that room gathers there too.
function M.blocked(c, e, a, full)
  for _, nc in ipairs(M.along(c, e.f)) do
    local N = nc.N
    if full[N.node] then return true end
    local no = M.fits(N, nc, a, nc.l and M.slice(nc.l, OUT)) or M.smooth(N, nc, a, N.s[TS])
    if no then
      full[N.node] = true
      return true, M.turning(no)
    end
  end
end

-- turning tells whether the limit that refuses is a day's or a month's, or for ever.
function M.turning(no)
  return M.counted(no[9].cfg[2 + (no[1] - 1) * W + 2])
end

-- let_go releases the head of a leaf.
function M.let_go(N, c, e, name, tk, start, t)
  local l, f = M.line(c), e.f
  l[V], f[FINISH] = start, start + M.turn_cost(N, f, tk.a)
  f[LAST], e.dirty = t, true
  M.unbook(c, f, tk.a)
  l[RELEASED] = l[RELEASED] + 1
  M.add(l, OUT, tk.a, 1)
  M.stand(c, f, RELEASED, OUT, tk.a, 1, 1)
  M.advance_all(c, M.along(c, f), tk.a, 1)
  call('HSET', KEYS[5], name, M.pack_ticket(1, tk.id, tk.seq, tk.a))
  call('ZADD', KEYS[4], format('%d', -t - RELEASE), 't' .. name)
  e.advance()
end

-- lose forgets what a leaf has booked.
function M.lose(c, f)
  local a, n = {}, f[COUNT]
  for u = 1, 8 do a[u], f[LBOOKED + u] = f[LBOOKED + u], 0 end
  M.count(M.line(c), f, -n)
  M.add(c.l, BOOKED, a, -1)
  M.stand(c, f, WAITING, BOOKED, a, -1, n)
end

-- release lets leaves' heads go until one does not fit the lane: then the whole
-- pass stops, so that room gathers for it and large jobs do not starve. A leaf that
-- a node of its own holds up is passed over: the lane's room is for the others. The
-- second result tells that something waits for a day or a month to turn.
function M.release(N, c, entries, slots, t, out)
  local l, full, turns = M.line(c), {}, false
  while slots > 0 do
    local e, start = M.next_leaf(l, entries)
    if not e then return slots, turns end
    local name, tk = M.head(e)
    local blocked, turn
    local large = name and M.never_fits(N, c, e, tk.a)
    if name and not large then blocked, turn = M.blocked(c, e, tk.a, full) end
    turns = turns or turn
    if not name then
      -- nothing is left in the order: what was counted is lost, so it is forgotten
      if e.f[COUNT] > 0 then M.lose(c, e.f) end
      e.dirty = true
    elseif blocked then
      e.skipped = true
    else
      local no = not large and (M.fits(N, c, tk.a, M.slice(l, OUT)) or M.smooth(N, c, tk.a, t))
      if no then return slots, turns or M.turning(no) end
      M.let_go(N, c, e, name, tk, start, t)
      slots = slots - 1
      out[#out + 1] = name
      out[#out + 1] = e.name
    end
  end
  return slots, turns
end

function M.forget(c, e)
  local id = format('%d', e.f[ID])
  local f, gone = e.f, {'#' .. id, '@' .. id, c.name .. '|' .. e.name}
  call('HDEL', KEYS[6], unpack(gone))
  for i = floor(f[FIRST] / CHUNK), floor(f[NEXT] / CHUNK) do call('HDEL', KEYS[5], M.chunk(f[ID], i * CHUNK)) end
  call('HDEL', KEYS[5], M.front(f[ID]))
end

-- lapsed_release puts a release that nobody came for back to the front. After some
-- of them the job is taken to be gone: what was set aside for it is others' now, and
-- if it comes after all it is new.
function M.lapsed_release(N, c, name, ticket, tk)
  local seq = math.min(tk.seq, -1) - 1
  if seq < -LAPSES then return M.drop(N, ticket, tk) end
  local f = M.leaf(c, name, 0)
  M.forward(N, c, f, ticket, tk.a, seq)
  M.put_leaf(c, name, f)
end

-- lapsed puts releases that nobody came for back to the front of their lines.
function M.lapsed(N, t)
  for _, m in ipairs(call('ZREVRANGEBYSCORE', KEYS[4], '(0', format('%d', -t), 'LIMIT', 0, 1000)) do
    local ticket = string.sub(m, 2)
    local tk = M.read_ticket(ticket)
    local c, name
    if tk then c, name = M.named(N, tk.id) end
    if c and tk.released then
      M.lapsed_release(N, c, name, ticket, tk)
    else
      call('ZREM', KEYS[4], m)
    end
  end
end

-- readdress follows a new configuration: the nodes on a leaf's way that have limits
-- now, and what it weighs.
function M.readdress(N, c, e, rev)
  local f, l, field, w = e.f, M.line(c), '@' .. format('%d', e.f[ID]), M.weigh(e.name)
  if f[COUNT] > 0 then l[WEIGHTS] = l[WEIGHTS] - f[WEIGHT] + w end
  f[WEIGHT], f[REV], e.dirty = w, rev, true
  if not M.noded then return end
  local feature = string.match(call('HGET', KEYS[6], field) or '', '^[^\n]*')
  local parts, names = M.level(e.name), {string.match(KEYS[1], '{limiter:[^/]*(/[^}]*)}')}
  names[1] = 'project' .. names[1]
  M.nodes()
  for i, kind in ipairs({'organization', 'tenant', 'team', 'key', 'run'}) do
    if kind == 'run' and feature ~= '' then names[#names + 1] = 'feature/' .. feature end
    if parts[i] and parts[i] ~= '-' then names[#names + 1] = kind .. '/' .. parts[i] end
  end
  local list = {}
  for _, name in ipairs(names) do
    if M.node(name, N.s[TS], c.name) then list[#list + 1] = name end
  end
  M.paths = M.paths or {}
  M.paths[f[ID]] = nil
  call('HSET', KEYS[6], field, feature .. '\n' .. table.concat(list, '\n'))
  local a = {}
  for u = 1, 8 do a[u] = f[LBOOKED + u] end
  M.stand(c, f, WAITING, BOOKED, a, 1, f[COUNT])
end

-- entries gives the leaves of a class, and those of them that are not paused: who
-- is paused waits for something else and is passed over.
function M.entries(N, c, leaves, rev, t, leafy)
  local all, open = {}, {}
  for i = 1, #leaves, 2 do
    local owner, name = string.match(leaves[i], '^([^#|]+)|(.*)$')
    if owner == c.name then
      local e = M.entry(c, name, leaves[i + 1])
      if e.f[REV] ~= rev then M.readdress(N, c, e, rev) end
      all[#all + 1] = e
      if not (leafy and M.paused(owner, name, t)) then open[#open + 1] = e end
    end
  end
  return all, open
end

-- tidy writes the leaves of a pass, and forgets those that have had their turn.
function M.tidy(c, all, t)
  local l = c.l
  local idle = l[WAITING] == 0 and l[RELEASED] == 0
  for _, e in ipairs(all) do
    local f = e.f
    if f[COUNT] == 0 and (idle or (f[FINISH] <= l[V] and t - f[LAST] > RELEASE + 1000)) then
      M.forget(c, e)
    elseif e.dirty then
      M.put_leaf(c, e.name, f)
    end
  end
  if idle then c.l, c.ldirty = nil, true end
end

-- measure follows how many get away a second: the mean since the line began, and of
-- the last minute or so later on. The first pass only starts the watch.
function M.measure(l, released, since)
  local got, seen = released + (l[PASSED] or 0), l[SEEN] or 0
  l[PASSED] = 0
  if seen == 0 then
    l[SEEN] = 1
    return
  end
  since = math.min(since, RATED - 1)
  seen = math.min(seen + since, RATED)
  l[SEEN], l[RATE] = seen, l[RATE] + floor((got * 1000000000 - l[RATE] * since) / seen)
end

-- pass is a class's part of the pull.
function M.pass(N, c, leaves, rev, slots, t, out, closed, leafy)
  local all, open = M.entries(N, c, leaves, rev, t, leafy)
  local l = M.line(c)
  if not closed then
    M.share_out(open)
    local n = slots
    local turns
    slots, turns = M.release(N, c, open, slots, t, out)
    if slots < n or not turns then M.measure(l, n - slots, N.since) end
  end
  M.tidy(c, all, t)
  return slots
end

-- closed tells whether nothing may be released. Where the next request looks whether
-- a breaker still holds, one ticket at a time is enough.
function M.closed(N, c, t)
  return N.s[COOL] > t or N.shut or (N.half and c.l[RELEASED] > 0) or (N.held and M.paused(c.name, '', t))
end

M.lines()
local N, t = M.open('')
if not N then return {-1, t} end
local slots, out = tonumber(ARGV[3]), {N.rebased, t, 0}
if slots <= 0 or t < N.s[NEXTPULL] then
  M.save(N)
  return out
end
out[3], N.since, N.s[PULL] = 1, t - N.s[PULL], t
local v = call('HMGET', KEYS[1], 'held', 'wrev', 'nodes', 'brk')
local rev = tonumber(v[2] or '0')
M.noded, M.rev = v[3], rev
if v[4] then
  M.breakers()
  N.shut = M.tripped(t) ~= nil
  N.half = M.probing
  if N.half then slots = 1 end
end
M.lapsed(N, t)
local names, leaves, leafy = decode(call('HGET', KEYS[2], 'names')), nil, false
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
N.s[NEXTPULL] = t + (slots == 0 and not N.half and SOON or EVERY)
M.save(N)
return out
