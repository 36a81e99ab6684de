-- Says what an enqueue would find, and changes nothing.
--
-- KEYS[1] run hash
-- ARGV[1] key prefix, ARGV[2] shards of the id hashes, then per row the digest
--   of its id (16) and of its key (16) as one string
--
-- Returns five bytes per row as one string: 0 for a new row, else its state, and 64
-- more where its key is another one; then its index (big-endian).
local prefix, shards = ARGV[1], tonumber(ARGV[2])
local out = {}
for i = 3, #ARGV do
  local id, key = string.sub(ARGV[i], 1, 16), string.sub(ARGV[i], 17, 32)
  local a, b, c = string.byte(id, 1, 3)
  local known = redis.call('HGET', prefix .. 'id:' .. ((a * 65536 + b * 256 + c) % shards), id)
  local state, index = 0, '\0\0\0\0'
  if known then
    local w, x, y, z = string.byte(known, 1, 4)
    local n = ((w * 256 + x) * 256 + y) * 256 + z
    local at = (n % 65536) * 3
    index = string.sub(known, 1, 4)
    state = string.byte(redis.call('GETRANGE', prefix .. 'row:' .. math.floor(n / 65536), at, at), 1) or 0
    if state > 0 and string.sub(known, 5, 20) ~= key then
      state = state + 64
    end
  end
  out[#out + 1] = string.char(state) .. index
end
return table.concat(out)
