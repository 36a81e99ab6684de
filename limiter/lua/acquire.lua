-- acquire.lua: decides everything about requests for permits of one lane.
--
-- ARGV[3] how many requests; for each of them 14 values:
--   id, class, lease in ms, ticket ('' = none), leaf ('' = without run and
--   priority), mode (1 = wants a place, no permit; 2 = is charged in any case), 8 x amount
-- Returns {alert, now, then for each request one of
--   {1, granted, expires}                    a permit
--   {1, granted, expires, reason, unit, window}  one in spite of a rule
--   {2, permit as stored}                    the permit that the id already holds
--   {0, reason, unit, window, limit, used, short, retry_at, position, detail}
-- }; alert is 1 when the clock was set back. {-1, now} when the lane has no limits.

function M.held(id) return call('HGET', KEYS[3], id) end

-- too_large gives the limit that the request could not fit even alone.
function M.too_large(N, c, a)
  for d = 1, N.nD do
    local need, most = a[N.cfg[2 + (d - 1) * 5 + 1] + 1], c.r[1 + N.nD * N.nC + d]
    if need > most then return {d, 'too_large', 0, need - most}, most end
  end
end

-- refusals makes what only refused requests need.
function M.refusals()
  if M.denied then return end
  M.waits()

  function M.denied(N, no, retry, pos, detail)
    local o = 2 + ((no[1] or 0) - 1) * 5
    local unit, win, limit = -1, -1, 0
    if no[1] then unit, win, limit = N.cfg[o + 1], N.cfg[o + 2], no[7] or N.cfg[o + 4] end
    return {0, no[2], unit, win, limit, no[3] or 0, no[4] or 0, retry, pos or 0, detail or ''}
  end

  -- place answers a refused job that waits: it keeps or gets its place, and comes
  -- back by itself long after it should have been pulled.
  function M.place(N, c, q, tk, no, t, ends, detail, rev)
    M.lines()
    local f = M.leaf(c, q.leaf, rev)
    local pos
    if not tk then
      M.book(c, f, q.ticket, q.a)
      pos = f[COUNT]
    elseif tk.released then
      M.forward(N, c, f, q.ticket, tk.a, t)
      pos = 1
    else
      pos = M.position(f, tk.seq)
    end
    M.put_leaf(c, q.leaf, f)
    local wait, from = 0, t
    local later = 300000 + (f[NEXT] + pos) * 7919 % 300000 -- apart, so that they are no herd
    if no[2] == 'paused' and ends < 0 then
      wait = later
    else
      if ends and ends > t then from = ends end
      local win = no[1] and N.cfg[2 + (no[1] - 1) * 5 + 2]
      if win == DAY or win == MONTH then from = M.when(N, c, no, t) end
      if tk and not tk.released and t - N.s[PULL] > AWAY and from == t then
        return M.denied(N, no, M.pace(N, c, tk.a, t), pos, detail)
      end
      wait = 2 * M.eta(N, c, f, pos) + 3000
      if c.tops == nil then M.bind(N, c) end
      if c.least and c.least < 1000000 then wait = math.min(wait, later) end -- a throttle may be lifted before
    end
    return M.denied(N, no, from + math.ceil(wait / 1000) * 1000, pos, detail)
  end
end

-- closed tells whether the request may not start: its class, run or queue is
-- paused, or the lane rests. It gives the reason, when that ends (-1: not known),
-- and the detail.
function M.closed(N, q, t)
  if N.held then
    M.holds()
    local ends, detail = M.paused(q.class, q.leaf, t)
    if ends then return 'paused', ends, detail end
  end
  if N.s[COOL] > t then
    local reason, detail = string.match(call('HGET', KEYS[2], 'cool') or '', '^(.-)|(.*)$')
    return reason or 'cooldown', N.s[COOL], detail
  end
end

-- turn_of tells whether a request that fits may go before those that wait.
function M.turn_of(N, c, a, tk, t)
  local l = c.l
  if not l or (tk and tk.released) then return nil end
  if tk then
    if t - N.s[PULL] <= AWAY then return {nil, 'turn'} end
    return nil
  end
  if l[WAITING] == 0 then return nil end
  local no = M.fits(N, c, a, M.slice(l, OUT), M.slice(l, BOOKED))
  if no and N.held and M.leafy(N, t) then no = M.fits(N, c, a, M.slice(l, OUT), M.unpaused(N, c, t)) end
  if no then return {nil, 'turn'} end
end

-- refuses gives the rule that is against the request now, or nil.
function M.refuses(N, c, q, tk, t)
  local l = c.l
  local x = l and l[RELEASED] > 0 and not (tk and tk.released) and M.slice(l, OUT) or nil
  return M.fits(N, c, q.a, x)
    or (not (tk and tk.released) and M.smooth(N, c, q.a, t))
    or M.turn_of(N, c, q.a, tk, t)
end

function M.charge(N, c, a)
  local s, k, nD, cfg = N.s, c.k, N.nD, N.cfg
  for d = 1, nD do
    local o, amount = 2 + (d - 1) * 5, a[cfg[2 + (d - 1) * 5 + 1] + 1]
    if amount > 0 then
      local j = M.at(N, d)
      s[j + c.i] = s[j + c.i] + amount
      if cfg[o + 2] <= TEN then
        k[d] = k[d] + amount
        s[j] = s[j] + M.square(N, d, amount)
      end
    end
  end
  c.dirty = true
end

-- forced grants in spite of a rule. The pace goes on by no more than a window.
function M.forced(N, c, q, tk, t, no)
  local answer = M.grant(N, c, q, tk, t)
  if answer[1] ~= 1 then return answer end
  if c.smooth then
    for d = N.nD + 1, 2 * N.nD do c.k[d] = math.min(c.k[d], (t + SLACK + 61000) * 1000) end
  end
  local o = 2 + ((no[1] or 0) - 1) * 5
  answer[4], answer[5], answer[6] = no[2], no[1] and N.cfg[o + 1] or -1, no[1] and N.cfg[o + 2] or -1
  return answer
end

function M.grant(N, c, q, tk, t)
  local a, ends = q.a, t + q.lease
  local rec = format('%s|[%d,%d,%d,0,%d,%d,%d,%d,%d,%d,%d,%d]', c.name, t, ends, N.s[REBASED],
    a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8])
  if call('HSETNX', KEYS[3], q.id, rec) == 0 then return {2, M.held(q.id)} end
  call('ZADD', KEYS[4], format('%d', ends), 'p' .. q.id)
  M.charge(N, c, a)
  if not (tk and tk.released) then M.advance(N, c, a, 1, t) end
  if tk then M.admitted(N, c, q.leaf, q.ticket, tk) end
  return {1, t, ends}
end

-- ticket_of gives the request's ticket. Its leaf is the one that it was booked
-- in; a job that comes as another class loses its place.
function M.ticket_of(N, c, q, t)
  local tk = M.read_ticket(q.ticket)
  if not tk then return nil end
  local owner, name = M.named(N, tk.id)
  if owner == c then
    q.leaf = name
    return tk
  end
  M.drop(N, q.ticket, tk, t)
end

function M.decide(N, q, t, rev)
  local c = M.class(N, q.class)
  if not c then return {0, 'unknown_class', -1, -1, 0, 0, 0, 0, 0, ''} end
  local no, most = M.too_large(N, c, q.a)
  if no then
    M.refusals()
    local answer = M.denied(N, no, 0)
    answer[5] = most
    return answer
  end
  local reason, ends, detail
  if N.held or N.s[COOL] > t then reason, ends, detail = M.closed(N, q, t) end
  local waits = q.ticket ~= '' and c.tickets
  if c.l then M.lines() end
  local tk = waits and c.l and M.ticket_of(N, c, q, t) or nil
  if q.mode == '1' then
    no = {nil, 'slots'}
    ends = nil
  elseif reason then
    no = {nil, reason}
  else
    no = M.refuses(N, c, q, tk, t)
    if not no then return M.grant(N, c, q, tk, t) end
    if no[7] then detail = c.tells[no[1]] end
  end
  if q.mode == '2' then return M.forced(N, c, q, tk, t, no) end
  local permit = M.held(q.id)
  if permit then return {2, permit} end
  M.refusals()
  if waits then return M.place(N, c, q, tk, no, t, ends, detail, rev) end
  if ends then
    return M.denied(N, no, ends < 0 and t + 30000 or ends, 0, detail)
  end
  if not no[1] then return M.denied(N, no, t + 1000) end
  return M.denied(N, no, M.when(N, c, no, t), 0, detail)
end

function M.request(i)
  local o = 3 + (i - 1) * 14
  local a = {}
  for u = 1, 8 do a[u] = tonumber(ARGV[o + 6 + u]) end
  return {id = ARGV[o + 1], class = ARGV[o + 2], lease = tonumber(ARGV[o + 3]),
    ticket = ARGV[o + 4], leaf = ARGV[o + 5], mode = ARGV[o + 6], a = a}
end

local N, t = M.open(ARGV[5])
if not N then return {-1, t} end
local v = call('HMGET', KEYS[1], 'held', 'wrev')
local answer, rev = {N.rebased, t}, tonumber(v[2])
N.held = v[1] and M.lasts(v[1], t)
for i = 1, tonumber(ARGV[3]) do answer[2 + i] = M.decide(N, M.request(i), t, rev) end
M.save(N)
return answer
