-- acquire.lua: decides everything about requests for permits of one lane.
--
-- ARGV[3] the revision of the configuration that the caller knows
-- ARGV[4] how many requests; for each of them 15 values:
--   id, class, lease in ms, ticket ('' = none), leaf, mode (1 = wants a place, no
--   permit; 2 = is charged in any case; 3 = asks what would be, and changes nothing;
--   10 + ms = waits in place so long), nodes with limits on its path and its feature,
--   one a line (the feature first, '' or not), 8 x amount
-- Returns {alert, now, then for each request one of
--   {1, granted, expires}                    a permit
--   {1, granted, expires, reason, unit, window, node, shadow, look}  one in spite of a
--     rule, or of limits in shadow: lines "NODE UNIT WINDOW", of soft ones that it
--     took past their part "soft NODE UNIT WINDOW"; look is 1 when it looks
--     whether a breaker still holds
--   {2, permit as stored}                    the permit that the id already holds
--   {0, reason, unit, window, limit, used, short, retry_at, position, detail, node,
--     use of each class}
-- }; alert is 1 when the clock was set back. {-1, now} when the lane has no limits,
-- {-2, now} when the caller's configuration is an old one: nothing was decided.

function M.held(id) return call('HGET', KEYS[3], id) end

-- refusals makes what only refused requests need.
function M.refusals()
  if M.denied then return end
  M.waits()

  -- uses is each class's part of dim d.
  function M.uses(N, d)
    local u, o = {}, M.at(N, d)
    for i = 1, N.nC do u[i] = N.s[o + i] end
    return M.pack(u)
  end

  function M.denied(no, retry, pos, detail)
    local unit, win, limit, node, uses = -1, -1, 0, '', ''
    if no[1] then
      local N, o = no[9], 2 + (no[1] - 1) * W
      unit, win, limit = N.cfg[o + 1], N.cfg[o + 2], no[7] or no[10].soft and M.soft(N, no[10], no[1]) or N.cfg[o + 4]
      node, uses = N.node or '', M.uses(N, no[1])
    end
    return {0, no[2], unit, win, limit, no[3] or 0, no[4] or 0, retry, pos or 0, detail or '', node, uses}
  end

  -- place answers a refused job that waits: it keeps or gets its place, and comes
  -- back by itself long after it should have been pulled.
  function M.place(N, c, q, tk, no, t, ends, detail, rev)
    M.lines()
    local f = M.leaf(c, q.leaf, rev, q)
    local pos
    if not tk then
      M.book(N, c, f, q.ticket, q.a)
      pos = f[COUNT]
    elseif tk.released then
      M.forward(N, c, f, q.ticket, tk.a, math.min(tk.seq, -1))
      pos = 1
    else
      pos = M.position(f, tk.seq)
    end
    M.put_leaf(c, q.leaf, f)
    local wait, from, eta = 0, t, 0
    local later = 300000 + (f[NEXT] + pos) * 7919 % 300000 -- apart, so that they are no herd
    local win = no[1] and no[9].cfg[2 + (no[1] - 1) * W + 2]
    if (no[2] == 'paused' and ends < 0) or win == EVER then
      wait = later -- until somebody lifts it
    else
      local first, _, rest = M.turns_before(c, f, pos)
      from = math.max(t, ends or 0, first)
      if win == DAY or win == MONTH then from = math.max(first, M.when(no, t)) end
      if tk and not tk.released and t - N.s[PULL] > AWAY and from == t and q.wait == 0 then
        return M.denied(no, M.pace(N, c, f, tk.a, t), pos, detail)
      end
      eta = floor(math.max(M.eta(N, c, f, pos), M.holds_for(c, f, pos)) * rest)
      wait = 2 * eta + 3000
      if c.tops == nil then M.bind(N, c) end
      if c.least and c.least < 1000000 then wait = math.min(wait, later) end -- a throttle may be lifted before
    end
    -- it would wait in vain: by twice its time, since the estimate is a rough one
    if q.wait > 0 and (wait == later or from + floor(eta / 2) > t + q.wait) then
      M.drop(N, q.ticket, M.read_ticket(q.ticket))
      pos = 0
    end
    return M.denied(no, from + math.ceil(wait / 1000) * 1000, pos, detail)
  end
end

-- closed tells whether the request may not start: its class, run or queue is
-- paused, a breaker is open, or the lane rests. It gives the reason, when that ends (-1: not known),
-- and the detail.
function M.closed(N, q, t)
  if N.held then
    M.holds()
    local ends, detail = M.paused(q.class, q.leaf, t)
    if ends then return 'paused', ends, detail end
  end
  if N.brk then
    M.breakers()
    local reason, ends, detail = M.tripped(t)
    if reason then return reason, ends, detail end
  end
  if N.s[COOL] > t then
    local reason, detail = string.match(call('HGET', KEYS[2], 'cool') or '', '^(.-)|(.*)$')
    return reason or 'cooldown', N.s[COOL], detail
  end
end

-- turn_of tells whether a request that fits may go before those that wait.
function M.turn_of(N, c, q, tk, t)
  local l = c.l
  if tk and tk.released then return nil end
  if tk then
    if t - N.s[PULL] <= AWAY then return {nil, 'turn'} end
    return nil
  end
  if l and l[WAITING] > 0 then
    local no = M.fits(N, c, q.a, M.slice(l, OUT), M.slice(l, BOOKED))
    if no and N.held and M.leafy(N, t) then no = M.fits(N, c, q.a, M.slice(l, OUT), M.unpaused(N, c, t)) end
    if no then return {nil, 'turn'} end
  end
  for _, nc in ipairs(q.path) do
    l = nc.l
    if l and l[WAITING] > 0 and M.fits(nc.N, nc, q.a, M.slice(l, OUT), M.slice(l, BOOKED)) then return {nil, 'turn'} end
  end
end

-- rule gives the rule of one ledger that is against the request now, or nil. Callers
-- who wait before it at this ledger come first.
function M.rule(c, q, released)
  local l, N, ahead = c.l, c.N, q.ahead and q.ahead[c.N.node or '']
  local x = l and l[RELEASED] > 0 and not released and M.slice(l, OUT) or nil
  local no = M.fits(N, c, q.a, x)
  if not no and ahead then
    no = M.fits(N, c, q.a, x, ahead)
    if no then no[2] = 'turn' end
  end
  no = no or (not released and M.smooth(N, c, q.a, N.s[TS])) or nil
  return no or (ahead and c.smooth and {nil, 'turn', 0, 0, 0, 0, false, false, N, c, 0}) or nil
end

-- refuses gives the rule that is against the request now, or nil: of several
-- ledgers' the one that will hold longest.
function M.refuses(N, c, q, tk, t)
  local released = tk and tk.released
  local no = M.rule(c, q, released)
  for _, nc in ipairs(q.path) do
    local x = M.rule(nc, q, released)
    if x and (not no or x[11] > no[11]) then no = x end
  end
  return no or M.turn_of(N, c, q, tk, t)
end

function M.charge(N, c, a)
  local s, k, cfg, o, j, i, step = N.s, c.k, N.cfg, 2, H + 1, c.i, N.nC + 1
  for d = 1, N.nD do
    local amount = a[cfg[o + 1] + 1]
    if amount > 0 then
      s[j + i] = s[j + i] + amount
      if cfg[o + 2] <= TEN then
        k[d] = k[d] + amount
        if cfg[o + 5] > 0 then s[j] = s[j] + M.square(N, d, amount) end
      end
    end
    o, j = o + W, j + step
  end
  c.dirty, N.dirty = true, true
end

-- forced grants in spite of a rule. The pace goes on by no more than a window.
function M.forced(N, c, q, tk, t, no)
  local answer = M.grant(N, c, q, tk, t)
  if answer[1] ~= 1 then return answer end
  local function bound(x)
    if not x.smooth then return end
    for d = x.N.nD + 1, 2 * x.N.nD do x.k[d] = math.min(x.k[d], (t + SLACK + 61000) * 1000) end
  end
  bound(c)
  for _, nc in ipairs(q.path) do bound(nc) end
  local cfg, o = no[1] and no[9].cfg, 2 + ((no[1] or 0) - 1) * W
  answer[4], answer[5], answer[6] = no[2], cfg and cfg[o + 1] or -1, cfg and cfg[o + 2] or -1
  answer[7], answer[8] = no[1] and no[9].node or '', answer[8] or ''
  answer[9] = answer[9] or 0
  return answer
end

-- shadows notes which limits in shadow would have refused, and gives them.
function M.shadows(c, a)
  local N, text = c.N, ''
  for d = 1, N.nD do
    local o = 2 + (d - 1) * W
    local unit, win = N.cfg[o + 1], N.cfg[o + 2]
    if N.cfg[o + 6] == 1 and a[unit + 1] > 0 and M.lacks(N, c, d, a[unit + 1], true) > 0 then
      call('HINCRBY', N.key, format('x:%d.%d', unit, win), 1)
      text = text .. format('%s %d %d\n', N.node or 'lane', unit, win)
    end
  end
  return text
end

-- softened gives the soft limits that a permit takes the ledger past.
function M.softened(c, a)
  local N, text = c.N, ''
  for d = 1, N.nD do
    local o = 2 + (d - 1) * W
    local amount, soft = a[N.cfg[o + 1] + 1], c.r[1 + N.nD * N.nC + N.nD + d]
    if soft < 0 and amount > 0 then
      local _, _, all = M.share(N, c, d)
      if all + amount > -soft then text = text .. format('soft %s %d %d\n', N.node or 'lane', N.cfg[o + 1], N.cfg[o + 2]) end
    end
  end
  return text
end

-- all_notes is shadows and softened of the lane and the request's nodes.
function M.all_notes(c, q)
  local text = c.shadow and M.shadows(c, q.a) or ''
  if c.soft then text = text .. M.softened(c, q.a) end
  for _, nc in ipairs(q.path) do
    if nc.shadow then text = text .. M.shadows(nc, q.a) end
    if nc.soft then text = text .. M.softened(nc, q.a) end
  end
  return text
end

function M.grant(N, c, q, tk, t)
  local a, ends, names = q.a, t + q.lease, ''
  for _, nc in ipairs(q.path) do
    names = names .. (names == '' and '|' or '\n') .. format('%d ', nc.N.s[REBASED]) .. nc.N.node
  end
  local rec = format('%s|[%d,%d,%d,0,%d,%d,%d,%d,%d,%d,%d,%d]', c.name, t, ends, N.s[REBASED],
    a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]) .. names
  if call('HSETNX', KEYS[3], q.id, rec) == 0 then return {2, M.held(q.id)} end
  call('ZADD', KEYS[4], format('%d', ends), 'p' .. q.id)
  local text = M.all_notes(c, q)
  M.charge(N, c, a)
  for _, nc in ipairs(q.path) do M.charge(nc.N, nc, a) end
  if not (tk and tk.released) then
    M.advance_all(c, q.path, a, 1)
    if c.l then c.l[PASSED], c.ldirty = (c.l[PASSED] or 0) + 1, true end
  end
  if tk then M.admitted(N, c, q.leaf, q.ticket, tk) end
  if N.inplace and q.looked then M.served(N, c, q) end
  local look = 0
  if M.probing and q.mode ~= '2' then look = M.look(q.id, t, ends) end
  if text ~= '' or look == 1 then return {1, t, ends, '', -1, -1, '', text, look} end
  return {1, t, ends}
end

-- ticket_of gives the request's ticket. Its leaf is the one that it was booked
-- in; a job that comes as another class loses its place.
function M.ticket_of(N, c, q)
  local tk = M.read_ticket(q.ticket)
  if not tk then return nil end
  local owner, name = M.named(N, tk.id)
  if owner == c then
    q.leaf = name
    return tk
  end
  M.drop(N, q.ticket, tk)
end

-- standing is ticket_of for a class in which nobody may wait: the job may have its
-- place in another.
function M.standing(N, c, q)
  if not c.l then
    if not call('HGET', KEYS[5], q.ticket) then return nil end
    M.lines()
  end
  return M.ticket_of(N, c, q)
end

-- larger refuses for good what some ledger could never take.
function M.larger(N, c, q)
  local no, most = M.too_large(N, c, q.a)
  for _, nc in ipairs(q.path) do
    if no then break end
    no, most = M.too_large(nc.N, nc, q.a)
  end
  if not no then return nil end
  M.refusals()
  local answer = M.denied(no, 0)
  answer[5] = most
  return answer
end

-- turned_away says when to come back, and keeps a place for what waits.
function M.turned_away(N, c, q, tk, no, t, ends, detail, rev)
  local permit = M.held(q.id)
  if permit then return {2, permit} end
  M.refusals()
  if q.ticket ~= '' and c.tickets then return M.place(N, c, q, tk, no, t, ends, detail, rev) end
  if q.wait > 0 and not c.tickets then return M.stand_here(N, c, q, no, t, ends, detail) end
  if ends then return M.denied(no, ends < 0 and t + 30000 or ends, 0, detail) end
  if not no[1] then return M.denied(no, t + 1000) end
  return M.denied(no, M.when(no, t), 0, detail)
end

-- need_lines makes the functions of tickets when some wait, or were released.
function M.need_lines(c, path)
  local any = c.l
  for _, nc in ipairs(path) do any = any or nc.l end
  if any then M.lines() end
end

function M.decide(N, q, t, rev)
  local c = M.class(N, q.class)
  if not c then return {0, 'unknown_class', -1, -1, 0, 0, 0, 0, 0, '', '', ''} end
  q.path = {}
  if q.names ~= '' then
    M.nodes()
    q.path = M.path(N, q.names, q.class)
  end
  local large = M.larger(N, c, q)
  if large then return large end
  local no, reason, ends, detail
  if N.held or N.brk or N.s[COOL] > t then reason, ends, detail = M.closed(N, q, t) end
  M.need_lines(c, q.path)
  local tk = q.ticket ~= '' and c.tickets and M.standing(N, c, q) or nil
  if not c.tickets and (q.wait > 0 or (N.inplace and M.anyone(N, c))) then
    M.in_place()
    M.look_around(N, c, q)
  end
  if q.mode == '1' then
    no, ends = {nil, 'slots'}, nil
  elseif reason then
    no = {nil, reason}
  else
    no = M.refuses(N, c, q, tk, t)
    if not no then
      if q.mode == '3' then return {1, t, t} end
      return M.grant(N, c, q, tk, t)
    end
    if no[7] then detail = no[10].tells[no[1]] end
  end
  if q.mode == '2' then return M.forced(N, c, q, tk, t, no) end
  return M.turned_away(N, c, q, tk, no, t, ends, detail, rev)
end

function M.request(i)
  local o = 4 + (i - 1) * 15
  local a = {}
  for u = 1, 8 do a[u] = tonumber(ARGV[o + 7 + u]) end
  local feature, names = ARGV[o + 7], ''
  if feature ~= '' then feature, names = string.match(feature, '^([^\n]*)\n?(.*)$') end
  local mode, wait = ARGV[o + 6], 0
  if #mode > 1 then
    wait = tonumber(mode) - 10
    mode = '0' -- on its own: the embedded Redis's Lua assigns the first before it works out the second
  end
  return {id = ARGV[o + 1], class = ARGV[o + 2], lease = tonumber(ARGV[o + 3]),
    ticket = ARGV[o + 4], leaf = ARGV[o + 5], mode = mode, wait = wait, feature = feature, names = names, a = a}
end

local v = call('HMGET', KEYS[1], 'held', 'wrev', 'nodes', 'brk')
if v[2] and v[2] ~= ARGV[3] then return {-2, M.clock()} end
local N, t = M.open(ARGV[6])
if not N then return {-1, t} end
local answer, rev = {N.rebased, t}, tonumber(v[2])
N.held, M.noded, M.rev, N.brk = v[1] and M.lasts(v[1], t), v[3], rev, v[4]
for i = 1, tonumber(ARGV[4]) do answer[2 + i] = M.decide(N, M.request(i), t, rev) end
M.save(N)
return answer
