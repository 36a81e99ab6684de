-- Gives a chunk another head, if it has not changed since it was read.
--
-- KEYS[1] run hash, KEYS[2] chunk
-- ARGV[1] stamp as it was read, ARGV[2] the new head, ARGV[3] '1' to cut the frame off
--
-- Returns how many bytes were cut off; -1 when nothing was done.
if redis.call('GETRANGE', KEYS[2], 0, 7) ~= ARGV[1] then
  return -1
end
if ARGV[3] ~= '1' then
  redis.call('SETRANGE', KEYS[2], 0, ARGV[2])
  return 0
end
local frame = redis.call('STRLEN', KEYS[2]) - #ARGV[2]
redis.call('SET', KEYS[2], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'bytes', string.format('%d', -frame))
return frame
