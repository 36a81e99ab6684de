-- Moves rows from one open state to another, each only if it is in the one and
-- of the generation named.
--
-- KEYS[1] counters
-- ARGV[1] key prefix, then per row: index, generation, from, to, and for what it
--   waits from now on: a letter, then what it has waited before ('' leaves that as
--   it is; a row that was running then has lost its worker, which is counted)
--
-- Returns 1 or 0 per row.
local prefix = ARGV[1]
local RUNNING = 3
local out, delta, lost = {}, {}, 0
local time = redis.call('TIME')
local now = string.format('%d', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
for i = 2, #ARGV, 5 do
  local n, gen, from, to = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local key, at = prefix .. 'row:' .. math.floor(n / 65536), (n % 65536) * 3
  local state, hi, lo = string.byte(redis.call('GETRANGE', key, at, at + 2), 1, 3)
  if state == from and hi * 256 + lo == gen then
    redis.call('SETRANGE', key, at, string.char(to))
    delta[from] = (delta[from] or 0) - 1
    delta[to] = (delta[to] or 0) + 1
    local wait = ARGV[i + 4]
    if wait ~= '' then
      redis.call('HSET', prefix .. 'wait:' .. math.floor(n / 64), n, string.sub(wait, 1, 1) .. now .. string.sub(wait, 2))
    elseif from == RUNNING then
      lost = lost + 1
    end
    out[#out + 1] = 1
  else
    out[#out + 1] = 0
  end
end
for state, by in pairs(delta) do
  if by ~= 0 then
    redis.call('HINCRBY', KEYS[1], state, by)
  end
end
if lost > 0 then
  redis.call('HINCRBY', prefix .. 'run', 'lost', lost)
end
return out
