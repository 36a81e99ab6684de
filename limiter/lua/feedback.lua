-- feedback.lua: lowers limits by what the provider refused.
--
-- ARGV[3] 'minute' or 'capacity', ARGV[4] unit of the minute's limit that was
--   refused (-1 = the provider names none, or none that there is: all of them)
-- Returns {alert, now, then for each limit that was lowered noticeably: unit,
--   window, what there was of it, what is left, all of it}. {alert, now, -1} when
--   calls at once have no limit that could be lowered. {-1, now} when the lane has
--   no limits.
local UNBOUND = 10000 -- calls at once where nobody configured how many
local FEW = 4 -- calls at once that are left in any case: so few say nothing of the provider's room
local MOST = 500000 -- ppm that are taken off at most
local CUT = 100000 -- ppm at a time
local EVERY = 10000 -- ms: the refusals of one moment are one

M.lowers()
local N, t = M.open('')
if not N then return {-1, t} end
local v = call('HMGET', N.key, 'low', 'pk', 'short')
local low, pk, out = v[1] and decode(v[1]) or {}, decode(v[2]), {N.rebased, t}

-- entry gives the place of dim d in low, and whether it is there by now only.
local function entry(d)
  local o = 2 + (d - 1) * W
  for x = 1, #low, 7 do
    if low[x] == N.cfg[o + 1] and low[x + 1] == N.cfg[o + 2] then return x, false end
  end
  local x = #low + 1
  for i, n in ipairs({N.cfg[o + 1], N.cfg[o + 2], N.cfg[o + 3], N.cfg[o + 4], 0, t, 0}) do low[x + i - 1] = n end
  return x, true
end

local function tell(x, before, after)
  for _, n in ipairs({low[x], low[x + 1], before, after, low[x + 3]}) do out[#out + 1] = n end
end

local function minute(d)
  local x = entry(d)
  if low[x + 6] > 0 and t - low[x + 6] < EVERY and t >= low[x + 6] then return end
  local off = M.off(low, x, t)
  local before = low[x + 3] - M.part(low[x + 3], off)
  local now = math.min(MOST, off + CUT)
  low[x + 4], low[x + 5], low[x + 6] = now, t, t
  if now - off >= CUT / 2 then tell(x, before, M.left(low, x, t)) end
end

-- many tells whether enough calls of this second failed for want of capacity: a
-- twentieth of those in flight, so that the few that always fail change nothing.
local function many(inflight)
  local seen = v[3] and decode(v[3]) or {0, 0}
  local second = floor(t / 1000)
  seen = {second, seen[1] == second and seen[2] + 1 or 1}
  call('HSET', N.key, 'short', M.pack(seen))
  return seen[2] > floor(inflight / 20)
end

local function capacity(d)
  local inflight, peak = M.everybody(N, d) + 1, 0
  if N.cfg[2 + (d - 1) * W + 3] == UNBOUND then -- it may have come when most of them were under way
    inflight = math.max(inflight, call('HLEN', KEYS[3]))
  end
  if not many(inflight) then return end
  for i = 1, N.nC do peak = peak + floor(pk[(d - 1) * N.nC + i] / 16) end
  local x, first = entry(d)
  if not first and t - low[x + 6] < RISE and t >= low[x + 6] then return end
  local before = N.cfg[2 + (d - 1) * W + 4]
  local now = math.min(before, math.max(FEW, floor(math.min(before, math.max(inflight, peak)) * 7 / 10)))
  low[x + 4], low[x + 5], low[x + 6] = now, t, t
  if first then tell(x, before, now) end
end

if ARGV[3] == 'capacity' then
  local d = M.place(N, 6, HELD)
  if d then capacity(d) else out[3] = -1 end
else
  local one = M.place(N, tonumber(ARGV[4]), MINUTE)
  for d = 1, N.nD do
    if d == one or (not one and N.cfg[2 + (d - 1) * W + 2] == MINUTE) then minute(d) end
  end
end
M.ease(N, low, t)
M.save(N)
return out
