-- base.lua: what every lane script begins with. Concatenated, never run alone.
--
-- KEYS of every lane script: 1 scope, 2 lane, 3 permits, 4 leases, 5 tickets, 6 leaves;
--   the hashes of nodes (nodes.lua) are found by name under the same hash tag
-- ARGV[1] now in ms ('' = Redis's TIME)
-- ARGV[2] starts of days and months around now: "[d0,d1,d2,d3,m0,m1,m2,m3]"
--
-- A ledger is what has limits: the lane, and each node of a path (tenant/acme)
-- that has some. Its hash (all values are arrays of integers, written by pack):
--   cfg      nC, nD, nD x (unit, window, limit, limit less outside and what feedback took off, cv in ppm, 1 = shadow),
--            nC x flags (1 smooth, 2 tickets, 4 cap,
--            8 the ledger has limits in shadow, 16 it has soft limits)
--   cfg2     nD x nC x (floor, guarantee, trickle, cap), as amounts; in the place of the
--            cap a cap in money (of a day or month) has its soft part: what all may use
--            for the class to go on, negated where that is only told (0 = it has none)
--   least    of a lane: nD x nC floors, as amounts, below which no learned one counts (-1: none does)
--   learned  of a lane: the floors that were learned, as they were set (floors.lua)
--   fl       when these end, then nD x nC what they come to (-1: none); absent when there are none
--   names    class names, highest first
--   sums     header (eleven numbers, see TS to NEXTPULL), then nD x (sum of squares for the margin, use of each class),
--            then (slots.lua, since) nD x when the limit came (0 = with the ledger, < 0 = by a
--            clock that was set back since), and where the clock stood when it was set back
--   pk       nD x nC peaks, times 16
--   r:CLASS  the class's index, nD x nC reserves as this class sees them, nD x largest
--            request; with a cap or soft limits nD x the fourth numbers of cfg2
--   k:CLASS  nD x use in the slot that is open now, nD x pace (the moment, in
--            microseconds, at which an even use would be where the class is)
--   l:CLASS  the class's line (line.lua); absent while nobody waits
--   1:G 10:G  eight slots each, of the minute's and the ten minutes' dims (ring.lua)
--   cool     reason and detail of the cool-down (lanes only)
--   low      what feedback took off limits (lower.lua; lanes only), short the moment
--            in s and number of the latest calls that failed for want of capacity
--   x:UNIT.WINDOW  how often this limit, in shadow, would have refused
--   inplace  who waits in place (inplace.lua; lanes only); absent while nobody does
--
-- Every call makes its functions anew, and each costs by the locals that it
-- captures. So functions hang in one table, what is rarely needed is made when it
-- is (M.slots, M.lines), and constants in capitals are written into the text when
-- it is loaded (scripts.go).
local call, floor, sqrt, format = redis.call, math.floor, math.sqrt, string.format
local decode = cjson.decode
local M = {formats = {}}

local SPAN = 122
local W = 6 -- numbers of a dim in cfg
local MINUTE, TEN, DAY, MONTH, HELD, EVER = 0, 1, 2, 3, 4, 5
local TS, CUR, CUR10, DAYS, DAYE, MONS, MONE, COOL, REBASED, PULL, NEXTPULL, H = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11
local JUMP = 5000
local SLACK = 500 -- ms by which a class may be before or behind its pace
local RAISED = 300000 -- how often it is worth asking whether a limit for ever was raised
local KEPT = 3600000 -- how long a lapsed permit waits for a late settle

-- pack writes integers; %d because '..' turns 3e14 into "3e+14" on real Redis.
function M.pack(t)
  local n = #t
  local f = M.formats[n]
  if not f then
    f = '[' .. string.rep('%d,', n - 1) .. '%d]'
    M.formats[n] = f
  end
  return format(f, unpack(t))
end

function M.clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local x = call('TIME')
  return x[1] * 1000 + floor(x[2] / 1000)
end

-- counted tells whether a window is no sliding one whose use adds up: a day, a
-- month, or all of a ledger's life.
function M.counted(win) return win == DAY or win == MONTH or win == EVER end

-- class gives a class's part of a ledger, read once per call; nil when unknown.
function M.class(N, name, v)
  local c = N.cls[name]
  if c then return c end
  v = v or call('HMGET', N.key, 'r:' .. name, 'k:' .. name, 'l:' .. name)
  if not v[1] then return nil end
  c = {N = N, name = name, r = decode(v[1]), k = decode(v[2]), l = v[3] and decode(v[3])}
  c.i = c.r[1]
  local flags = N.cfg[2 + N.nD * W + c.i]
  c.smooth, c.tickets, c.capped, c.shadow, c.soft = flags % 2 == 1, flags % 4 >= 2, flags % 8 >= 4, flags % 16 >= 8, flags >= 16
  if N.node then c.tops = false end -- throttles and caps are a lane's
  N.cls[name] = c
  return c
end

-- at gives the place of dim d's sum of squares in s; the classes' use follows it.
function M.at(N, d) return H + (d - 1) * (N.nC + 1) + 1 end

-- square is what an open permit's amount adds to dim d's margin.
function M.square(N, d, amount)
  local cv = N.cfg[2 + (d - 1) * W + 5]
  if cv == 0 then return 0 end
  local x = floor(amount * cv / 1000000)
  if x > 10000000 then x = 10000000 end
  return x * x
end

-- soft is what a class of a ledger with soft limits may find used up of dim d at
-- most, its own need included: the limit less outside, or its soft part.
function M.soft(N, c, d)
  local o = 2 + (d - 1) * W
  local most, soft = N.cfg[o + 4], c.r[1 + N.nD * N.nC + N.nD + d]
  if N.cfg[o + 2] > TEN and soft > 0 and soft < most then return soft end
  return most
end

-- share gives, for a class and a dim: what others use or must be left, its own
-- use, everybody's use, and the limit less outside and margin.
function M.share(N, c, d)
  local s, nC, r, i = N.s, N.nC, c.r, c.i
  local o, ro = H + (d - 1) * (nC + 1) + 1, 1 + (d - 1) * nC
  local others, own = 0, s[o + i]
  local all = own
  for j = 1, nC do
    if j ~= i then
      local u, v = s[o + j], r[ro + j]
      all = all + u
      others = others + (u > v and u or v)
    end
  end
  local free = c.soft and M.soft(N, c, d) or N.cfg[2 + (d - 1) * W + 4]
  if s[o] > 0 then free = free - floor(1.5 * sqrt(s[o])) end
  return others, own, all, free
end

-- lasts reads the end of what holds: whether anything does.
function M.lasts(v, t)
  local ends = v and tonumber(v)
  return ends and (ends < 0 or ends > t) or false
end

-- bind works out once per call what the class's cap and throttles leave to it
-- (hold.lua): amounts by dim, or false when nothing binds it.
function M.bind(N, c)
  c.tops = false
  if N.held == nil then N.held = M.lasts(call('HGET', KEYS[1], 'held'), N.s[TS]) end
  if N.held or c.capped then
    M.holds()
    M.ceilings(N, c)
  end
  return c.tops
end

-- room is what the class could use of dim d, its own use included; at least 1.
function M.room(N, c, d)
  local others, _, _, free = M.share(N, c, d)
  local room, tops = free - others, c.tops
  if tops == nil then tops = M.bind(N, c) end
  if tops and tops[d] and tops[d] < room then room = tops[d] end
  return room > 1 and room or 1
end

-- step is how long an amount lasts at 1.1 times the even use of the class's
-- room: 61 s / 1.1, in microseconds.
function M.step(N, c, d, amount)
  return math.min(61000000, floor(amount * 55454545 / M.room(N, c, d)))
end

-- put writes a ledger.
function M.put(N)
  local put = {'sums', M.pack(N.s)}
  for name, c in pairs(N.cls) do
    if c.dirty then
      put[#put + 1] = 'k:' .. name
      put[#put + 1] = M.pack(c.k)
    end
    if c.ldirty and c.l then
      put[#put + 1] = 'l:' .. name
      put[#put + 1] = M.pack(c.l)
    elseif c.ldirty then
      call('HDEL', N.key, 'l:' .. name)
    end
    c.dirty, c.ldirty = false, false
  end
  call('HSET', N.key, unpack(put))
end

-- save writes the lane, and the nodes that were touched.
function M.save(N)
  M.put(N)
  if N.moved then M.put_callers(N) end
  if M.opened then M.put_nodes() end
end

-- ledger makes one of what was read: cfg, sums, and r, k, l of a class.
function M.ledger(key, node, v, first)
  if not v[2] then v[1], v[2] = M.upgrade(key) end
  local N = {key = key, node = node, cfg = decode(v[1]), s = decode(v[2]), cls = {}, rebased = 0}
  N.nC, N.nD = N.cfg[1], N.cfg[2]
  if v[3] then M.class(N, first, {v[3], v[4], v[5]}) end
  return N
end

-- move brings a ledger to t, and gives the time that it then has.
function M.move(N, t)
  local last = N.s[TS]
  if t < last - JUMP or floor(t / 500) > N.s[CUR] then M.slots() end
  if t < last - JUMP then
    M.rebase(N, t)
    M.calendar(N, t)
    M.put(N)
  elseif t < last then
    t = last
  end
  N.s[TS] = t
  if floor(t / 500) > N.s[CUR] then M.roll(N, t) end
  return t
end

-- open reads the lane, moves it to now, and gives nil when it has no limits.
function M.open(first)
  local v = call('HMGET', KEYS[2], 'cfg', 'sums', 'r:' .. first, 'k:' .. first, 'l:' .. first, 'inplace')
  if not v[1] then return nil, M.clock() end
  local N = M.ledger(KEYS[2], nil, v, first)
  N.inplace = v[6]
  return N, M.move(N, M.clock())
end
