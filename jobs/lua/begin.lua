-- Gives rows to handlers that start.
--
-- KEYS[1] counters, KEYS[2] run hash
-- ARGV[1] key prefix, then per task: index, generation
--
-- Returns the digest of the run's settings, the longest wait of a row (s; 0: any),
-- the time (ms), how long ago the deadline was that stops the run (ms; 0: not yet, or
-- none), then code, former state, "row id NUL fields", seconds since it was enqueued,
-- and what it has waited for (see waits.go) per task:
--   0 proceed: the row is running now   1 finished   2 stale   3 cancelled
--   4 the row is open but its fields are gone
local prefix = ARGV[1]
local QUEUED, RUNNING, DONE, CANCELLED = 1, 3, 5, 11
local run = redis.call('HMGET', KEYS[2], 'digest', 'max_wait', 'stop_at')
local most = tonumber(run[2] or '0')
local stop = tonumber(run[3] or '0')
local time = redis.call('TIME')
local now = tonumber(time[1])
local ms = now * 1000 + math.floor(tonumber(time[2]) / 1000)
local late = stop > 0 and math.max(ms - stop, 0) or 0
local out, delta, lost = {run[1] or '', most, ms, late}, {}, 0

local function answer(code, state, fields, waited, record)
  out[#out + 1] = code
  out[#out + 1] = state or 0
  out[#out + 1] = fields or ''
  out[#out + 1] = waited or 0
  out[#out + 1] = record or ''
end

local function waited(n)
  local at = (n % 65536) * 4
  local w, x, y, z = string.byte(redis.call('GETRANGE', prefix .. 'at:' .. math.floor(n / 65536), at, at + 3), 1, 4)
  return z and math.max(now - (((w * 256 + x) * 256 + y) * 256 + z), 0) or 0
end

for i = 2, #ARGV, 2 do
  local n, gen = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  local key, at = prefix .. 'row:' .. math.floor(n / 65536), (n % 65536) * 3
  local state, hi, lo = string.byte(redis.call('GETRANGE', key, at, at + 2), 1, 3)
  if state == CANCELLED then
    answer(3, state)
  elseif not state or state == 0 or hi * 256 + lo ~= gen then
    answer(2, state)
  elseif state >= DONE then
    answer(1, state)
  else
    local fields = redis.call('HGET', prefix .. 'fld:' .. math.floor(n / 1024), n)
    if not fields then
      answer(4, state)
    else
      local record = state ~= QUEUED and redis.call('HGET', prefix .. 'wait:' .. math.floor(n / 64), n)
      answer(0, state, fields, waited(n), record or '')
      if state == RUNNING then
        lost = lost + 1 -- its worker died with it
      else
        redis.call('SETRANGE', key, at, string.char(RUNNING))
        delta[state] = (delta[state] or 0) - 1
        delta[RUNNING] = (delta[RUNNING] or 0) + 1
      end
    end
  end
end
for state, by in pairs(delta) do
  redis.call('HINCRBY', KEYS[1], state, by)
end
if lost > 0 then
  redis.call('HINCRBY', KEYS[2], 'lost', lost)
end
return out
