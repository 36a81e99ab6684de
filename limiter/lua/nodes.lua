-- nodes.lua: the nodes of a path that have limits of their own. Needs base.lua,
-- slots.lua and shape.lua.
--
-- A node's hash is a ledger (base.lua) in which no permits and no tickets are kept,
-- besides
--   no       of the pattern KIND/*: grows with each configuration
--   tpl      of a node that has its limits by the pattern: the no that it has them from
-- Several lanes share a node, so it has no leases: a permit names its nodes. A node
-- by pattern is forgotten when nobody used it for long enough to have nothing left.

local OFREV = 3 -- of a node's line: the revision of the configuration that it is of

-- nodes makes what only requests with such nodes need.
function M.nodes()
  if M.node then return end
  M.opened = {}
  local prefix = string.match(KEYS[1], '^(.*)scope$') .. 'node:'

  -- by_pattern gives a node the limits of its kind's pattern, as they are now.
  function M.by_pattern(key, name, v, first, t)
    local p = prefix .. string.match(name, '^[^/]*') .. '/*'
    if v[1] and v[6] == call('HGET', p, 'no') then return v end
    local x = call('HMGET', p, 'no', 'cfg', 'cfg2', 'names')
    if not x[2] then return {false} end
    M.shapes()
    M.reshape(key, name, x[2], x[3], x[4], t)
    call('HSET', key, 'tpl', x[1])
    call('SADD', string.sub(prefix, 1, -6) .. 'nodes', name)
    return call('HMGET', key, 'cfg', 'sums', 'r:' .. first, 'k:' .. first, 'l:' .. first)
  end

  -- node gives a node's ledger, moved to t, read once per call; false when it has
  -- no limits.
  function M.node(name, t, first)
    local N = M.opened[name]
    if N ~= nil then return N end
    local key = prefix .. name
    local v = call('HMGET', key, 'cfg', 'sums', 'r:' .. first, 'k:' .. first, 'l:' .. first, 'tpl')
    local own = v[1] and not v[6]
    if not own then v = M.by_pattern(key, name, v, first, t) end
    N = v[1] and M.ledger(key, name, v, first) or false
    M.opened[name] = N
    if N then
      N.own = own
      M.move(N, t)
    end
    return N
  end

  -- expire lets a node by pattern go when nothing of it counts any more.
  function M.expire(N)
    local hours = 26
    for d = 1, N.nD do
      local win = N.cfg[2 + (d - 1) * W + 2]
      if win == MONTH then hours = math.max(hours, 800) end
      if win == EVER then hours = 9600 end -- 400 days without a call: it is not one life any more
    end
    call('PEXPIRE', N.key, format('%d', hours * 3600000))
  end

  function M.put_nodes()
    for _, N in pairs(M.opened) do
      if N and N.dirty then
        M.put(N)
        if N.rolled and not N.own then M.expire(N) end
        N.dirty, N.rolled = false, false
      end
    end
  end

  -- path gives the ledgers, by class, of a list of nodes, one a line.
  function M.path(N, names, class)
    local list = {}
    for name in string.gmatch(names, '[^\n]+') do
      local L = M.node(name, N.s[TS], class)
      local c = L and M.class(L, class)
      if c then
        -- of an older configuration: who waits stands in line anew (pull.lua)
        if c.l and c.l[OFREV] ~= M.rev then c.l, c.ldirty, L.dirty = nil, true, true end
        L.inplace, L.lane = N.inplace, N
        list[#list + 1] = c
      end
    end
    return list
  end
end

-- either opens a node by name, or the lane where it has none ('').
function M.either(name)
  if name == '' then return M.open('') end
  M.nodes()
  local t = M.clock()
  local N = M.node(name, t, '')
  return N, N and N.s[TS] or t
end
