-- meter.lua: adds what one process counted to the buckets of its time.
--
-- KEYS[1] hash of processes, whose name begins every bucket's; KEYS[2] list of rejections
-- ARGV[1] now in ms ('' = Redis's TIME), ARGV[2] process, ARGV[3] number of the parcel
-- ARGV[4] {"": [fields of a full bucket, width, kept, ...], "t:": ...}: the steps in ms of counts by
--   feature and by tenant, ARGV[5] counts n, ARGV[6] rejections m,
-- ARGV[7] sums of money x, ARGV[8] ms that a day of these is kept,
-- ARGV[9] sums of tenants u, ARGV[10] and ARGV[11] ms that a day and an hour of these are kept
-- then n x (age in ms, "" or "t:", field, field when the bucket is full, counts as UsageSample.pack writes them)
-- then m x (age in ms, rejection as JSON)
-- then x x (day, field, field when the day is full, "[micro-dollars, calls, input, output]")
-- then u x (day, UTC day, hour of it, tenant, field, field when that is full, counts as UseCounts.pack writes them)
-- Returns {now, 1 when it was added, 0 when it had been before}
--
-- Keys are made here, since Redis's clock says which bucket it is. All have the
-- hash tag of KEYS[1].
local call, floor, format = redis.call, math.floor, string.format
local FULL = 1000          -- fields of a day's money, after which new names are counted as one
local TENANTS = 20000      -- of a day, after which new ones are counted as one
local KINDS = 400          -- fields of a tenant's day or hour, after which new ones are counted as one
local NAMES = 4000         -- of such fields in a tenant's month, likewise
local OTHER = 'other'
local GONE = 3600000       -- ms after which a silent process is forgotten
local REJECTIONS = 500     -- entries kept

local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local t = call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
end

-- forget drops processes that are long silent.
local function forget()
  local all = call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local seen = tonumber(string.match(all[i + 1], '%d+$'))
    if seen < now - GONE then call('HDEL', KEYS[1], all[i]) end
  end
end

local seq = tonumber(ARGV[3])
local known = call('HGET', KEYS[1], ARGV[2])
local last = known and tonumber(string.match(known, '^%d+')) or -1
if not known then forget() end
call('HSET', KEYS[1], ARGV[2], format('%d %d', math.max(seq, last), now))
if seq <= last then return {now, 0} end

local formats = {}
-- pack writes integers; %d because '..' turns 3e14 into "3e+14" on real Redis.
local function pack(t)
  local n = #t
  if not formats[n] then formats[n] = '[' .. string.rep('%d,', n - 1) .. '%d]' end
  return format(formats[n], unpack(t))
end

-- add gives the sum of two counts: of the counters by place, of the histograms
-- by bin. One that an older version wrote has fewer of them.
local function add(a, b)
  local n = math.max(a[1], b[1])
  local out = {n}
  for i = 1, n do
    out[1 + i] = (i <= a[1] and a[1 + i] or 0) + (i <= b[1] and b[1 + i] or 0)
  end
  local i, j, o = a[1] + 2, b[1] + 2, n + 1
  while a[i] or b[j] do
    local iend, jend, head = i + 2 * (a[i] or 0), j + 2 * (b[j] or 0), o + 1
    i, j, o = i + 1, j + 1, o + 1
    while i <= iend or j <= jend do
      if j > jend or (i <= iend and a[i] < b[j]) then
        out[o + 1], out[o + 2] = a[i], a[i + 1]
        i = i + 2
      elseif i > iend or b[j] < a[i] then
        out[o + 1], out[o + 2] = b[j], b[j + 1]
        j = j + 2
      else
        out[o + 1], out[o + 2] = a[i], a[i + 1] + b[j + 1]
        i, j = i + 2, j + 2
      end
      o = o + 2
    end
    out[head] = (o - head) / 2
  end
  return out
end

local steps = cjson.decode(ARGV[4])
local touched = {}

local function put(kind, full, at, width, kept, field, other, text, counts)
  local index = floor(at / width)
  local ends = (index + 1) * width + kept
  if ends <= now then return end
  local key = format('%s:%s%d:%d', KEYS[1], kind, width, index)
  touched[key] = ends
  local old = call('HGET', key, field)
  if not old and call('HLEN', key) >= full then
    field = other
    old = call('HGET', key, field)
  end
  if old then text = pack(add(cjson.decode(old), counts)) end
  call('HSET', key, field, text)
end

local p = 11
for _ = 1, tonumber(ARGV[5]) do
  local at, kind, text = now - tonumber(ARGV[p + 1]), ARGV[p + 2], ARGV[p + 5]
  local counts, own = cjson.decode(text), steps[kind]
  for s = 2, #own, 2 do
    put(kind, own[1], at, own[s], own[s + 1], ARGV[p + 3], ARGV[p + 4], text, counts)
  end
  p = p + 5
end
for key, ends in pairs(touched) do
  call('PEXPIREAT', key, format('%d', ends))
end

for _ = 1, tonumber(ARGV[6]) do
  call('LPUSH', KEYS[2], format('%d|%s', now - tonumber(ARGV[p + 1]), ARGV[p + 2]))
  p = p + 2
end
if tonumber(ARGV[6]) > 0 then
  call('LTRIM', KEYS[2], 0, REJECTIONS - 1)
end

-- sum adds counts to a field, and with too many fields to that of the rest.
local function sum(key, field, other, most, text, kept)
  local old = call('HGET', key, field)
  if not old and call('HLEN', key) >= most then
    field = other
    old = call('HGET', key, field)
  end
  local sums = cjson.decode(text)
  for i, n in ipairs(old and cjson.decode(old) or {}) do sums[i] = (sums[i] or 0) + n end
  call('HSET', key, field, pack(sums))
  call('PEXPIRE', key, kept)
end

for _ = 1, tonumber(ARGV[7]) do
  sum(KEYS[1] .. ':money:' .. ARGV[p + 1], ARGV[p + 2], ARGV[p + 3], FULL, ARGV[p + 4], ARGV[8])
  p = p + 4
end

-- Use is written as unsigned varints (Go's encoding/binary) without the zeros at the end,
-- in fields that are small integers: so a tenant's day stays a listpack of few bytes.
local function numbers(text)
  local out, n, unit = {}, 0, 1
  for i = 1, #text do
    local b = string.byte(text, i)
    n, unit = n + b % 128 * unit, unit * 128
    if b < 128 then
      out[#out + 1] = n
      n, unit = 0, 1
    end
  end
  return out
end

local function varints(t)
  local last, out = #t, {}
  while last > 0 and t[last] == 0 do last = last - 1 end
  for i = 1, last do
    local n = t[i]
    while n >= 128 do
      out[#out + 1] = string.char(n % 128 + 128)
      n = floor(n / 128)
    end
    out[#out + 1] = string.char(n)
  end
  return table.concat(out)
end

-- use adds counts to a field.
local function use(key, field, counts, kept)
  local sums = numbers(call('HGET', key, field) or '')
  for i = 1, math.max(#sums, #counts) do sums[i] = (sums[i] or 0) + (counts[i] or 0) end
  call('HSET', key, field, varints(sums))
  call('PEXPIRE', key, kept)
end

-- number is what a field is called in its tenant's month; nil for one too many.
local function number(names, field, most)
  local id = call('HGET', names, field)
  if id then return tonumber(id) end
  id = call('HLEN', names)
  if id >= most then return nil end
  call('HSET', names, field, format('%d', id))
  return id
end

-- useOf adds counts to a field of a tenant's day, or of an hour of it.
local function useOf(names, key, hour, most, field, other, counts, kept)
  local full = call('HLEN', key) >= most
  local id = number(names, field, full and 0 or NAMES)
  local place = format('%d', (id or 0) * 24 + hour)
  if not id or full and call('HEXISTS', key, place) == 0 then
    place = format('%d', number(names, other, NAMES + 1) * 24 + hour)
  end
  use(key, place, counts, kept)
  call('PEXPIRE', names, ARGV[10])
end

local root = KEYS[1] .. ':use:'
for _ = 1, tonumber(ARGV[9]) do
  local day, utc, hour, tenant = ARGV[p + 1], ARGV[p + 2], tonumber(ARGV[p + 3]), ARGV[p + 4]
  local field, other, counts = ARGV[p + 5], ARGV[p + 6], numbers(ARGV[p + 7])
  local all = root .. day
  if call('HEXISTS', all, tenant) == 0 and call('HLEN', all) >= TENANTS then tenant = OTHER end
  local names = root .. 'names:' .. tenant .. ':'
  use(all, tenant, counts, ARGV[10])
  useOf(names .. string.sub(day, 1, 7), root .. 'day:' .. day .. ':' .. tenant, 0, KINDS, field, other, counts, ARGV[10])
  useOf(names .. string.sub(utc, 1, 7), root .. 'hour:' .. utc .. ':' .. tenant, hour, 24 * KINDS, field, other, counts, ARGV[11])
  p = p + 7
end
return {now, 1}
