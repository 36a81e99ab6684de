-- Queues rows that ended badly once more, as a new generation that has waited for
-- nothing yet.
--
-- KEYS[1] counters
-- ARGV[1] key prefix, then per row: index, generation, state it must be in
--
-- Returns the new generation per row, 0 where nothing was done.
local prefix = ARGV[1]
local QUEUED = 1
local out, delta = {}, {}
local now = tonumber(redis.call('TIME')[1])
local now4 = string.char(math.floor(now / 16777216) % 256, math.floor(now / 65536) % 256, math.floor(now / 256) % 256, now % 256)
for i = 2, #ARGV, 3 do
  local n, gen, from = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local key, at = prefix .. 'row:' .. math.floor(n / 65536), (n % 65536) * 3
  local state, hi, lo = string.byte(redis.call('GETRANGE', key, at, at + 2), 1, 3)
  local there = redis.call('HEXISTS', prefix .. 'fld:' .. math.floor(n / 1024), n) == 1
  if there and state == from and hi * 256 + lo == gen and gen < 65535 then
    gen = gen + 1
    redis.call('SETRANGE', key, at, string.char(QUEUED, math.floor(gen / 256), gen % 256))
    redis.call('SETRANGE', prefix .. 'at:' .. math.floor(n / 65536), (n % 65536) * 4, now4)
    delta[from] = (delta[from] or 0) - 1
    delta[QUEUED] = (delta[QUEUED] or 0) + 1
    out[#out + 1] = gen
  else
    out[#out + 1] = 0
  end
end
for state, by in pairs(delta) do
  if by ~= 0 then
    redis.call('HINCRBY', KEYS[1], state, by)
  end
end
return out
