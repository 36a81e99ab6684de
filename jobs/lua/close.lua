-- Takes open rows out of a run's work: cancels them, or removes rows that left
-- the input. Either raises the generation, so that a handler that still holds
-- one ends without a call.
--
-- KEYS[1] run hash, KEYS[2] counters
-- ARGV[1] key prefix, ARGV[2] 'cancel' or 'remove', then indexes
--
-- Returns former state and former generation per row; state 0 where nothing was
-- done.
local prefix, remove = ARGV[1], ARGV[2] == 'remove'
local DONE, CANCELLED = 5, 11
local to = remove and 0 or CANCELLED
local out, delta, live = {}, {}, 0
for i = 3, #ARGV do
  local n = tonumber(ARGV[i])
  local key, at = prefix .. 'row:' .. math.floor(n / 65536), (n % 65536) * 3
  local state, hi, lo = string.byte(redis.call('GETRANGE', key, at, at + 2), 1, 3)
  local gen = state and hi * 256 + lo or 0
  if state and state > 0 and (remove or state < DONE) then
    redis.call('SETRANGE', key, at, string.char(to, math.floor((gen + 1) / 256), (gen + 1) % 256))
    redis.call('HDEL', prefix .. 'wait:' .. math.floor(n / 64), n)
    delta[state] = (delta[state] or 0) - 1
    if remove then
      live = live - 1
      redis.call('HDEL', prefix .. 'fld:' .. math.floor(n / 1024), n)
    else
      delta[to] = (delta[to] or 0) + 1
    end
    out[#out + 1] = state
  else
    out[#out + 1] = 0
  end
  out[#out + 1] = gen
end
for state, by in pairs(delta) do
  if by ~= 0 then
    redis.call('HINCRBY', KEYS[2], state, by)
  end
end
if live ~= 0 then
  redis.call('HINCRBY', KEYS[1], 'rows', live)
end
return out
