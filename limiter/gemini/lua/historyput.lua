-- historyput.lua: writes blocks of the history, if the writer is still the one that
-- makes them.
--
-- KEYS[1] lock, KEYS[2] hash of tiers, then n blocks, then buckets that these replace
-- ARGV[1] the writer, ARGV[2] n, ARGV[3] tier, ARGV[4] its last final block ('' when
-- these are not), then n blocks, each followed by the ms that it is kept
-- Returns 1, or 0 when another makes blocks now
local call = redis.call
if call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local n = tonumber(ARGV[2])
for i = 1, n do
  call('SET', KEYS[2 + i], ARGV[3 + 2 * i], 'PX', ARGV[4 + 2 * i])
end
if ARGV[4] ~= '' then call('HSET', KEYS[2], ARGV[3], ARGV[4]) end
for i = n + 3, #KEYS do
  call('DEL', KEYS[i])
end
return 1
