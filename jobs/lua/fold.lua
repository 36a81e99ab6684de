-- Replaces a chunk and removes the fields that went into it, if nothing of it
-- has changed since it was read.
--
-- KEYS[1] run hash, KEYS[2] chunk, KEYS[3] result hash
-- ARGV[1] stamp of the chunk as it was read ('' for none), ARGV[2] the new chunk,
--   then per field: index, SHA-1 of its value
--
-- Returns 1, or 0 when nothing was done.
local HEAD = 264
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('GETRANGE', KEYS[2], 0, 7) ~= ARGV[1] then
  return 0
end
local bytes, names = 0, {}
for i = 3, #ARGV, 2 do
  local v = redis.call('HGET', KEYS[3], ARGV[i])
  if not v or redis.sha1hex(v) ~= ARGV[i + 1] then
    return 0
  end
  bytes = bytes - #v
  names[#names + 1] = ARGV[i]
end
bytes = bytes + #ARGV[2] - math.max(redis.call('STRLEN', KEYS[2]), HEAD)
redis.call('SET', KEYS[2], ARGV[2])
redis.call('HDEL', KEYS[3], unpack(names))
redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', bytes))
return 1
