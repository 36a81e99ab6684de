-- Gives rows their end and stores their results, each once.
--
-- KEYS[1] counters, KEYS[2] order of ends
-- ARGV[1] key prefix, then per row: index, generation, new state,
--   '1' if the result carries the row's fields, so that they need not be kept;
--   the result: new state (a byte) and line
--
-- Returns 1 or 0 per row. An open row ends by its own generation. A row that was
-- cancelled in flight (which raised its generation by one) takes a good result;
-- one that left the run keeps it for its return, without a state.
local prefix = ARGV[1]
local DONE, CACHED, CANCELLED = 5, 6, 11
local out, delta, ends, bytes = {}, {}, {}, 0

local function pack4(n)
  return string.char(math.floor(n / 16777216) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
end

-- A row of generation 0 has had no result before.
local function store(bucket, n, gen, value)
  local key = prefix .. 'res:' .. bucket
  local old = gen > 0 and redis.call('HGET', key, n)
  redis.call('HSET', key, n, value)
  bytes = bytes + #value - (old and #old or 0)
end

for i = 2, #ARGV, 5 do
  local n, gen, to = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local key, at = prefix .. 'row:' .. math.floor(n / 65536), (n % 65536) * 3
  local state, hi, lo = string.byte(redis.call('GETRANGE', key, at, at + 2), 1, 3)
  local good = to == DONE or to == CACHED
  local own = state and hi * 256 + lo == gen and state > 0 and state < DONE
  local late = state and good and hi * 256 + lo == gen + 1
  local bucket = math.floor(n / 1024)
  if own or (late and state == CANCELLED) then
    redis.call('SETRANGE', key, at, string.char(to))
    store(bucket, n, gen, ARGV[i + 4])
    if good and ARGV[i + 3] == '1' then
      redis.call('HDEL', prefix .. 'fld:' .. bucket, n)
    end
    delta[state] = (delta[state] or 0) - 1
    delta[to] = (delta[to] or 0) + 1
    ends[#ends + 1] = pack4(n)
    out[#out + 1] = 1
  else
    if late and state == 0 then
      store(bucket, n, 1, ARGV[i + 4])
    end
    out[#out + 1] = 0
  end
end
if bytes ~= 0 then
  redis.call('HINCRBY', prefix .. 'run', 'bytes', string.format('%d', bytes))
end
if #ends > 0 then
  redis.call('APPEND', KEYS[2], table.concat(ends))
end
for state, by in pairs(delta) do
  if by ~= 0 then
    redis.call('HINCRBY', KEYS[1], state, by)
  end
end
return out
