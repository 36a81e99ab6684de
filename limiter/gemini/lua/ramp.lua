-- ramp.lua: writes one ramp, if it is still what its writer read.
--
-- KEYS 1 hash of ramps
-- ARGV 1 name, 2 revision that was read (0: there was none), 3 the ramp as JSON
--   ('' removes it), 4 fence of the leader that writes ('' a person does),
--   5 for how many ms a later leader's write counts, 6 the most ramps
-- Returns the new revision; 0 when the ramp has changed meanwhile, -1 when a later
-- leader wrote lately, -2 when there are too many. Nothing is changed then.
--
-- Revisions are counted over all ramps: one that was removed and made anew never has
-- the revision that somebody has read of the old one.
local call = redis.call
local x = call('TIME')
local now = x[1] * 1000 + math.floor(x[2] / 1000)
if ARGV[4] ~= '' then
  local h = call('HMGET', KEYS[1], 'fence', 'at')
  local age = now - tonumber(h[2] or '0')
  if tonumber(h[1] or '0') > tonumber(ARGV[4]) and age < tonumber(ARGV[5]) then return -1 end
end
local old = call('HGET', KEYS[1], ARGV[1])
local rev = old and tonumber(string.match(old, '^%d+')) or 0
if rev ~= tonumber(ARGV[2]) then return 0 end
if not old and call('HLEN', KEYS[1]) >= tonumber(ARGV[6]) + 3 then return -2 end -- beside them: fence, at, revisions
local new = call('HINCRBY', KEYS[1], 'revisions', 1)
if ARGV[4] ~= '' then
  call('HSET', KEYS[1], 'fence', ARGV[4], 'at', string.format('%d', now))
end
if ARGV[3] == '' then
  call('HDEL', KEYS[1], ARGV[1])
else
  call('HSET', KEYS[1], ARGV[1], string.format('%d ', new) .. ARGV[3])
end
return new
