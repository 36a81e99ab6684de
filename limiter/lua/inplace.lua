-- inplace.lua: callers who wait in place, with somebody before a screen. Needs
-- base.lua, room.lua and line.lua.
--
-- Who waits asks again within GONE, or its place is lost: one that died leaves
-- nothing behind. The lane's field "inplace" has a line for each, in order of arrival,
--   [class, asked, until, ends, 8 x amount]|LEDGER|ID|LEAF
-- class is the class's index, asked when it asked last, until how long it waits, ends
-- when the rule against it ends as far as is known, LEDGER whose rule that is ('' = the
-- lane, '!' = it closes the class alone, so that nobody else need leave anything).
--
-- Callers of a class go by the weights of their paths, level by level: of what waits
-- at a level the one whose turn begins first. A line without an ID is the last turn
-- that a node of the path had, LEAF its name with all above it, asked and until are
-- where it began and ended, in the level's own virtual time. Turns are forgotten when
-- nobody of the class waits.
local OF, ASKED, UNTIL, EASES, BEGAN, ENDED = 1, 2, 3, 4, 2, 3
local GONE, CALLERS = 2000, 256

-- waiting leaves out the last turns of classes of which nobody waits.
function M.waiting(list)
  local any, out = {}, {}
  for _, e in ipairs(list) do
    if e.id ~= '' then any[e.x[OF]] = true end
  end
  for _, e in ipairs(list) do
    if any[e.x[OF]] then out[#out + 1] = e end
  end
  return out
end

-- callers reads who waits.
function M.callers(N)
  if N.callers then return N.callers end
  local list, t = {}, N.s[TS]
  for numbers, by, id, leaf in string.gmatch(N.inplace or '', '(%[[^%]]*%])|([^|\n]*)|([^|\n]*)|([^\n]*)') do
    local x = decode(numbers)
    if id == '' or (x[ASKED] + GONE >= t and x[UNTIL] >= t) then list[#list + 1] = {x = x, by = by, id = id, leaf = leaf} end
  end
  N.callers = M.waiting(list)
  if #N.callers == 0 then N.moved, N.inplace = N.inplace, false end
  return N.callers
end

function M.put_callers(N)
  local lines = {}
  for i, e in ipairs(N.callers) do lines[i] = M.pack(e.x) .. '|' .. e.by .. '|' .. e.id .. '|' .. e.leaf end
  if #lines > 0 then call('HSET', N.key, 'inplace', table.concat(lines, '\n')) else call('HDEL', N.key, 'inplace') end
  N.moved = false
end

-- wants sums by ledger, class and unit what callers wait for.
function M.wants(N)
  if N.wants then return N.wants end
  N.wants = {}
  for _, e in ipairs(M.callers(N)) do
    if e.id ~= '' then
      local w = N.wants[e.by] or {}
      N.wants[e.by] = w
      local sum = w[e.x[OF]] or {0, 0, 0, 0, 0, 0, 0, 0}
      for u = 1, 8 do sum[u] = sum[u] + e.x[EASES + u] end
      w[e.x[OF]] = sum
    end
  end
  return N.wants
end

-- wanted is what the classes above c wait for of dim d, beyond what is left to them
-- in any case.
function M.wanted(N, c, d)
  local want = M.wants(N.lane or N)[N.node or '']
  if not want then return 0 end
  local o, ro, unit, sum = M.at(N, d), 1 + (d - 1) * N.nC, N.cfg[2 + (d - 1) * W + 1] + 1, 0
  for j = 1, c.i - 1 do
    if want[j] then
      local u, v = N.s[o + j], c.r[ro + j]
      sum = sum + math.max(u + want[j][unit], v) - math.max(u, v)
    end
  end
  return sum
end

-- in_place makes what requests need of a class in which callers may wait so.
function M.in_place()
  if M.stand_here then return end
  M.lines()

  function M.change(N, list)
    N.callers, N.moved, N.wants = M.waiting(list), true, nil
    N.inplace = N.inplace or '' -- so that who comes later in this call looks at it
  end

  -- nodes_of gives what a leaf's nodes are called, with all above them, and what they
  -- weigh. Run and priority are one.
  function M.nodes_of(leaf)
    local parts, w = M.level(leaf)
    local names, name = {}, ''
    parts[5], w[5] = (parts[5] or '-') .. ' ' .. (parts[6] or '-'), (w[5] or 1) * (w[6] or 1)
    for i = 1, 5 do
      name = name .. (parts[i] or '-') .. '/'
      names[i] = name
    end
    return names, w
  end

  -- turns_had reads the last turns of a class: where each node's ended, and where the
  -- newest of each level began.
  function M.turns_had(N, c)
    local ended, newest = {}, {}
    for _, e in ipairs(M.callers(N)) do
      if e.id == '' and e.x[OF] == c.i then
        local level = string.match(e.leaf, '^(.*/)[^/]+/$') or ''
        ended[e.leaf], newest[level] = e.x[ENDED], math.max(newest[level] or 0, e.x[BEGAN])
      end
    end
    return ended, newest
  end

  -- takes is how far a call moves a turn on, before weights.
  function M.takes(N, a) return M.cost(N, a) * 1000 end

  -- merge puts the callers of a level's nodes in order.
  function M.merge(N, groups, depth, level, ended, newest)
    local all = {}
    for _, g in ipairs(groups) do
      local at = math.max(ended[g.name] or 0, newest[level] or 0)
      for _, e in ipairs(M.order(N, g, depth + 1, g.name, ended, newest)) do
        e.at = at
        at = at + floor(M.takes(N, e.a) / g.weight)
        all[#all + 1] = e
      end
    end
    table.sort(all, function(x, y) return x.at < y.at or (x.at == y.at and x.n < y.n) end)
    return all
  end

  -- order puts callers in the order in which they come, from a level down.
  function M.order(N, list, depth, level, ended, newest)
    if depth > 5 or #list < 2 then return list end
    local groups, by = {}, {}
    for _, e in ipairs(list) do
      local name = e.names[depth]
      if not by[name] then
        by[name] = {name = name, weight = e.weights[depth] or 1}
        groups[#groups + 1] = by[name]
      end
      table.insert(by[name], e)
    end
    if #groups == 1 then return M.order(N, list, depth + 1, groups[1].name, ended, newest) end
    return M.merge(N, groups, depth, level, ended, newest)
  end

  -- entrant is a caller as order wants it, the nth to arrive.
  function M.entrant(leaf, a, n, e)
    local names, weights = M.nodes_of(leaf)
    return {names = names, weights = weights, a = a, n = n, e = e}
  end

  -- rivals lists the callers of a class who wait, the request's own place last if it
  -- has none yet.
  function M.rivals(N, c, q)
    local list = {}
    for i, e in ipairs(M.callers(N)) do
      if e.id ~= '' and e.x[OF] == c.i then
        if e.id == q.id then q.me = e end
        list[#list + 1] = M.entrant(e.leaf, {unpack(e.x, EASES + 1)}, i, e)
      end
    end
    if q.wait > 0 and not q.me then list[#list + 1] = M.entrant(q.leaf, q.a, CALLERS * 99, nil) end
    return list
  end

  -- look_around finds the request's own place, and sums by ledger what callers of its
  -- class wait for who come before it.
  function M.look_around(N, c, q)
    q.before = 0
    local list = M.rivals(N, c, q)
    if #list > 1 then list = M.order(N, list, 1, '', M.turns_had(N, c)) end
    for _, r in ipairs(list) do
      local e = r.e
      if q.wait > 0 and e == q.me then return end
      if e ~= q.me then
        q.ahead, q.before = q.ahead or {}, q.before + 1
        local sum = q.ahead[e.by] or {0, 0, 0, 0, 0, 0, 0, 0}
        for u = 1, 8 do sum[u] = sum[u] + r.a[u] end
        q.ahead[e.by] = sum
      end
    end
  end

  -- served notes the turns that the nodes of a leaf had, while others of its class
  -- wait; what is past at their levels is forgotten.
  function M.served(N, c, q)
    local ended, newest = M.turns_had(N, c)
    local names, weights = M.nodes_of(q.leaf)
    local list, mine, level = {}, {}, ''
    for i, name in ipairs(names) do
      local at = math.max(ended[name] or 0, newest[level] or 0)
      mine[name] = {x = {c.i, at, at + floor(M.takes(N, q.a) / (weights[i] or 1)), 0, 0, 0, 0, 0, 0, 0, 0, 0}, by = '', id = '', leaf = name}
      newest[level] = at
      level = name
    end
    for _, e in ipairs(M.callers(N)) do
      local past = e.id == '' and e.x[OF] == c.i and (mine[e.leaf] or e.x[ENDED] <= (newest[string.match(e.leaf, '^(.*/)[^/]+/$') or ''] or 0))
      if e ~= q.me and not past then list[#list + 1] = e end
    end
    for _, name in ipairs(names) do list[#list + 1] = mine[name] end
    M.change(N, list)
  end

  -- leave_place takes callers out by id; it tells how many there were.
  function M.leave_place(N, ids)
    local list, n = {}, 0
    for _, e in ipairs(M.callers(N)) do
      if e.id ~= '' and ids[e.id] then n = n + 1 else list[#list + 1] = e end
    end
    if n > 0 then M.change(N, list) end
    return n
  end

  -- may_ease tells whether a refusal may end before it must: calls in flight end, and
  -- settle below their estimates; those who are before it leave.
  function M.may_ease(no)
    if not no[1] then return no[2] == 'turn' end
    local o = 2 + (no[1] - 1) * W
    local unit, win = no[9].cfg[o + 1], no[9].cfg[o + 2]
    return win == HELD or (win <= TEN and (unit > 0 or no[2] == 'turn'))
  end

  -- crowded tells whether so many wait that one more would only make all slower.
  function M.crowded(N)
    local n = 0
    for _, e in ipairs(M.callers(N)) do
      if e.id ~= '' then n = n + 1 end
    end
    return n >= CALLERS
  end

  -- hopeless tells whether a caller would wait in vain for what ends at retry.
  function M.hopeless(N, q, no, t, closed, retry)
    if not q.me and M.crowded(N) then return true end
    return retry > t + q.wait and (closed or not M.may_ease(no))
  end

  -- stand_here answers a refused caller who waits in place: it gets or keeps its place
  -- while there is hope.
  function M.stand_here(N, c, q, no, t, ends, detail)
    local me, retry = q.me, ends
    if ends and ends < 0 then retry = t + 30000 end
    if not retry and me and me.x[EASES] > t then retry = me.x[EASES] end
    retry = retry or (no[1] and M.when(no, t)) or t + 1000
    if M.hopeless(N, q, no, t, ends ~= nil, retry) then
      if me then M.leave_place(N, {[q.id] = true}) end
      return M.denied(no, retry, 0, detail)
    end
    local list, a = M.callers(N), q.a
    if not me then
      me = {id = q.id, leaf = q.leaf, x = {c.i, 0, 0, 0, a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]}}
      list[#list + 1] = me
    end
    me.by = no[2] == 'paused' and '!' or (no[9] and no[9].node or '')
    me.x[ASKED], me.x[UNTIL], me.x[EASES] = t, t + q.wait, retry
    M.change(N, list)
    return M.denied(no, retry, q.before + 1, detail)
  end
end
