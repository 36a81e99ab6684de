-- lend.lua: reads what is known of a loan, or replaces it if it is still what the
-- caller saw.
--
-- KEYS[1] the loan
-- ARGV[1] now in ms ('' = Redis's TIME), ARGV[2] 'read' or 'put'
-- put: ARGV[3] what the key must hold ('' = nothing), ARGV[4] what it gets, ARGV[5] ms that this is kept
-- Returns {now, what the key holds now or '', 1 when it was replaced}
local call, floor = redis.call, math.floor

local now
if ARGV[1] ~= '' then
  now = tonumber(ARGV[1])
else
  local t = call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
end

local held = call('GET', KEYS[1]) or ''
if ARGV[2] == 'read' or held ~= ARGV[3] then return {now, held, 0} end
call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
return {now, ARGV[4], 1}
