-- scope.lua: sets what all lanes of a scope share.
--
-- KEYS 1 scope
-- ARGV 1 schema version, 2 generation for a scope that has none, 3 configuration
--   as JSON, 4.. name and weight by turns
-- Returns the stored schema version when it is newer (nothing is written), else
-- the configuration that was there before ('' = none).
--
-- The scope hash: schema, gen, config, wrev (grows when weights change),
-- w:NAME weights, pauses and throttles (pause.lua), n:NODE state of nodes other
-- than lanes (reserved).
local schema = tonumber(redis.call('HGET', KEYS[1], 'schema') or '0')
if schema > tonumber(ARGV[1]) then return schema end
local before = redis.call('HGET', KEYS[1], 'config') or ''
for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(f, 1, 2) == 'w:' then redis.call('HDEL', KEYS[1], f) end
end
redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'config', ARGV[3])
redis.call('HSETNX', KEYS[1], 'gen', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'wrev', 1)
for i = 4, #ARGV, 2 do redis.call('HSET', KEYS[1], 'w:' .. ARGV[i], ARGV[i + 1]) end
return before
