-- Enters rows in the ledger; known rows are only looked at.
--
-- KEYS[1] run hash, KEYS[2] counters
-- ARGV[1] key prefix, ARGV[2] '1' to accept changed rows, ARGV[3] shards of the id hashes
-- then per row: digest of its id (16) and of its key (16) as one string;
--   the state to enter it in, '0' to enqueue it; "row id NUL fields"
--
-- Returns the first row's index alone if all are new and to be enqueued, which
-- gives them consecutive ones; else index, generation, code per row:
--   1 new, to be enqueued     2 new, entered as finished
--   3 known                   4 known and queued: its task may be missing
--   5 changed, to be enqueued 6 changed and left alone
--   7 and 8 are 3 and 4 of a row that had other fields, which make no answer: it has
--   these now, and so has what its handler will bring (see finish.lua)
local prefix, update, shards = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3])
local QUEUED, DONE, CACHED = 1, 5, 6
local next = tonumber(redis.call('HGET', KEYS[1], 'next') or '0')
local first, fresh, out, delta, live, plain, edited = next, {}, {}, {}, 0, 0, false

local function pack4(n)
  return string.char(math.floor(n / 16777216) % 256, math.floor(n / 65536) % 256, math.floor(n / 256) % 256, n % 256)
end

local function place(n)
  return prefix .. 'row:' .. math.floor(n / 65536), (n % 65536) * 3
end

local function bucket(kind, n)
  return prefix .. kind .. math.floor(n / 1024)
end

local function count(state, by)
  if state > 0 then
    delta[state] = (delta[state] or 0) + by
    live = live + by
  end
end

local function set(n, from, to, gen)
  local key, at = place(n)
  redis.call('SETRANGE', key, at, string.char(to, math.floor(gen / 256), gen % 256))
  count(from, -1)
  count(to, 1)
end

local now4 = pack4(tonumber(redis.call('TIME')[1]))

-- enqueued notes when rows of one stretch were enqueued.
local function enqueued(n, rows)
  redis.call('SETRANGE', prefix .. 'at:' .. math.floor(n / 65536), (n % 65536) * 4, string.rep(now4, rows))
end

-- forget makes the row's last result, wherever it is, count no more.
local function forget(n)
  local key = bucket('res:', n)
  local old = redis.call('HGET', key, n)
  local folded = redis.call('EXISTS', prefix .. 'fold:' .. math.floor(n / 256)) == 1
  local bytes = -(old and #old or 0)
  if folded then
    redis.call('HSET', key, n, string.char(0))
    bytes = bytes + 1
  else
    redis.call('HDEL', key, n)
  end
  if bytes ~= 0 then
    redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', bytes))
  end
end

local function answer(n, gen, code)
  out[#out + 1] = n
  out[#out + 1] = gen
  out[#out + 1] = code
end

local function enter(want, fields)
  local n = next
  next = next + 1
  local state = want > 0 and want or QUEUED
  fresh[#fresh + 1] = string.char(state, 0, 0)
  count(state, 1)
  if want > 0 then
    return answer(n, 0, 2)
  end
  redis.call('HSET', bucket('fld:', n), n, fields)
  plain = plain + 1
  answer(n, 0, 1)
end

-- A row of which something changed, or that comes back after it left.
local function again(n, state, gen, want, fields)
  gen = gen + 1
  if want > 0 then
    redis.call('HDEL', bucket('fld:', n), n)
    set(n, state, want, gen)
    return answer(n, gen, 2)
  end
  redis.call('HSET', bucket('fld:', n), n, fields)
  redis.call('HDEL', prefix .. 'wait:' .. math.floor(n / 64), n)
  set(n, state, QUEUED, gen)
  enqueued(n, 1)
  answer(n, gen, state == 0 and 1 or 5)
end

-- refit gives a known row the fields of this input, where Redis has some of it.
local function refit(n, fields)
  local key = bucket('fld:', n)
  local old = redis.call('HGET', key, n)
  if not old or old == fields then
    return 0
  end
  redis.call('HSET', key, n, fields)
  edited = true
  return 4
end

local function back(n, gen, want, fields)
  local kept = redis.call('HGET', bucket('res:', n), n)
  local was = kept and string.byte(kept, 1)
  if not kept then
    local at = 8 + n % 256
    was = (string.byte(redis.call('GETRANGE', prefix .. 'fold:' .. math.floor(n / 256), at, at), 1) or 0) % 64
  end
  if was == DONE or was == CACHED then
    set(n, 0, was, gen)
    return answer(n, gen, 2)
  end
  again(n, 0, gen, want, fields)
end

for i = 4, #ARGV, 3 do
  local id, key, want = string.sub(ARGV[i], 1, 16), string.sub(ARGV[i], 17, 32), tonumber(ARGV[i + 1])
  local a, b, c = string.byte(id, 1, 3)
  local shard = prefix .. 'id:' .. ((a * 65536 + b * 256 + c) % shards)
  if redis.call('HSETNX', shard, id, pack4(next) .. key) == 1 then
    enter(want, ARGV[i + 2])
  else
    local known = redis.call('HGET', shard, id)
    local w, x, y, z = string.byte(known, 1, 4)
    local n = ((w * 256 + x) * 256 + y) * 256 + z
    local at, off = place(n)
    local state, hi, lo = string.byte(redis.call('GETRANGE', at, off, off + 2), 1, 3)
    if not state then
      answer(n, 0, 3) -- twice in this call
    elseif string.sub(known, 5, 20) == key then
      local gen = hi * 256 + lo
      if state == 0 then
        back(n, gen, want, ARGV[i + 2])
      else
        answer(n, gen, (state == QUEUED and 4 or 3) + (update and refit(n, ARGV[i + 2]) or 0))
      end
    elseif not update and state ~= 0 then
      answer(n, hi * 256 + lo, 6)
    else
      redis.call('HSET', shard, id, pack4(n) .. key)
      forget(n)
      again(n, state, hi * 256 + lo, want, ARGV[i + 2])
    end
  end
end

local done = 0
while done < #fresh do
  local key, at = place(first + done)
  local room = math.min(#fresh - done, (196608 - at) / 3)
  redis.call('SETRANGE', key, at, table.concat(fresh, '', done + 1, done + room))
  enqueued(first + done, room)
  done = done + room
end
if edited then
  redis.call('HSET', KEYS[1], 'edited', 1)
end
if #fresh > 0 then
  redis.call('HSET', KEYS[1], 'next', next)
end
for state, by in pairs(delta) do
  if by ~= 0 then
    redis.call('HINCRBY', KEYS[2], state, by)
  end
end
if live ~= 0 then
  redis.call('HINCRBY', KEYS[1], 'rows', live)
end
if plain == (#ARGV - 3) / 3 then
  return {first}
end
return out
