-- configure.lua: sets the limits of one lane or node and keeps what was used.
--
-- KEYS[2] is the lane's or the node's hash
-- ARGV[3] cfg ('' = it has no limits any more), ARGV[4] cfg2, ARGV[5] names
--   (base.lua), ARGV[6] the node ('' = a lane), ARGV[7] least (base.lua),
--   ARGV[8] the revision of the configuration that they are of
-- Returns {alert, now}. Of a revision that is not the newest nothing is written:
-- who wrote that one does it, maybe before us.
if call('HGET', KEYS[1], 'wrev') ~= ARGV[8] then return {0, M.clock()} end
M.shapes()
local node, t = ARGV[6] ~= '' and ARGV[6] or nil, M.clock()
local alert = 0
if ARGV[3] == '' then
  M.close(KEYS[2], node, t)
else
  if not node then call('HSET', KEYS[2], 'least', ARGV[7]) end
  local N
  N, t = M.reshape(KEYS[2], node, ARGV[3], ARGV[4], ARGV[5], t)
  alert = N.rebased
end
if node then
  call('HSET', KEYS[1], 'nodes', '1')
  call('HINCRBY', KEYS[2], 'no', 1)
  call('HDEL', KEYS[2], 'tpl')
  call('PERSIST', KEYS[2])
end
if M.opened then M.put_nodes() end
return {alert, t}
