-- scope.lua: sets what all lanes of a scope share.
--
-- KEYS 1 scope
-- ARGV 1 schema version, 2 generation for a scope that has none, 3 configuration
--   as JSON, 4 overrides as JSON ('' = none were ever set), 5 configuration and
--   6 overrides that must be there now ('*' = any), 7 weights by name as a JSON object
-- Returns {1, configuration that was there before ('' = none), revision}, or when
-- nothing is written {-1, stored schema version} for a newer one and {0, revision}
-- when something else is there.
--
-- The scope hash: schema, gen, config (as configured), over (overrides, over it),
-- wrev (the revision: grows with each change of either), weights, nodes (there once
-- a node had limits), pauses and throttles (pause.lua).
local schema = tonumber(redis.call('HGET', KEYS[1], 'schema') or '0')
if schema > tonumber(ARGV[1]) then return {-1, schema} end
local was = redis.call('HMGET', KEYS[1], 'config', 'over', 'wrev')
local config, over = was[1] or '', was[2] or ''
if (ARGV[5] ~= '*' and ARGV[5] ~= config) or (ARGV[6] ~= '*' and ARGV[6] ~= over) then
  return {0, tonumber(was[3] or '0')}
end
redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'config', ARGV[3], 'weights', ARGV[7])
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'over', ARGV[4]) end
redis.call('HSETNX', KEYS[1], 'gen', ARGV[2])
return {1, config, redis.call('HINCRBY', KEYS[1], 'wrev', 1)}
