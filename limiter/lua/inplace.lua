-- inplace.lua: callers who wait in place, with somebody before a screen. Needs
-- base.lua, room.lua and line.lua.
--
-- Who waits asks again within GONE, or its place is lost: one that died leaves
-- nothing behind. The lane's field "inplace" begins with what the callers wait for, so
-- that others need not read all of them:
--   #WRITTEN|[class, 8 x amount]|LEDGER|[class, 8 x amount]|LEDGER|...
-- and has then a line for each, by class in the order in which they come,
--   [class, asked, until, ends, number, 8 x amount]|LEDGER|ID|LEAF
-- class is the class's index, asked when it asked last, until how long it waits, ends
-- when the rule against it ends as far as is known, number grows with each that comes,
-- LEDGER whose rule that is ('' = the lane, '!' = it closes the class alone, so that
-- nobody else need leave anything).
--
-- Callers of a class go by the weights of their paths, level by level: of what waits
-- at a level the one whose turn begins first. They are put in order when one comes or
-- has its permit. A line without an ID is the last turn that a node of the path had,
-- LEAF its name with all above it, asked and until are where it began and ended, in
-- the level's own virtual time. Turns are forgotten when nobody of the class waits.
local OF, ASKED, UNTIL, EASES, NUMBER, BEGAN, ENDED = 1, 2, 3, 4, 5, 2, 3
local GONE, AGAIN, CALLERS = 2000, 900, 128 -- within AGAIN it is known that who asks is there

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
  local list, t, gone = {}, N.s[TS], false
  for numbers, by, id, leaf in string.gmatch(N.inplace or '', '\n(%[[^%]]*%])|([^|\n]*)|([^|\n]*)|([^\n]*)') do
    local x = decode(numbers)
    if id == '' or (x[ASKED] + GONE >= t and x[UNTIL] >= t) then
      list[#list + 1] = {x = x, by = by, id = id, leaf = leaf}
    else
      gone = true
    end
  end
  N.callers = list
  if gone then M.change(N, list) end
  return N.callers
end

function M.change(N, list)
  N.callers, N.moved, N.wants = M.waiting(list), true, nil
  N.inplace = N.inplace or '' -- so that who comes later in this call looks at it
end

function M.put_callers(N)
  local lines, wants = {}, M.wants(N)
  local head = {format('#%d', N.s[TS])}
  for by, w in pairs(wants) do
    for i, sum in pairs(w) do
      head[#head + 1] = M.pack({i, unpack(sum)})
      head[#head + 1] = by
    end
  end
  lines[1] = table.concat(head, '|') .. '|'
  for i, e in ipairs(N.callers) do lines[1 + i] = M.pack(e.x) .. '|' .. e.by .. '|' .. e.id .. '|' .. e.leaf end
  if #N.callers > 0 then call('HSET', N.key, 'inplace', table.concat(lines, '\n')) else call('HDEL', N.key, 'inplace') end
  N.moved = false
end

-- sum adds up what is waited for, by ledger and class.
function M.sum_up(list)
  local wants = {}
  for _, e in ipairs(list) do
    if e.id ~= '' then
      local w = wants[e.by] or {}
      wants[e.by] = w
      local sum = w[e.x[OF]] or {0, 0, 0, 0, 0, 0, 0, 0}
      for u = 1, 8 do sum[u] = sum[u] + e.x[NUMBER + u] end
      w[e.x[OF]] = sum
    end
  end
  return wants
end

-- wants gives what callers wait for, by ledger, class and unit, as it was when it was
-- written: nothing when nobody has asked since for too long.
function M.wants(N)
  if N.wants then return N.wants end
  if N.moved then
    N.wants = M.sum_up(N.callers)
    return N.wants
  end
  N.wants = {}
  local at, head = string.match(N.inplace or '', '^#(%d+)|([^\n]*)')
  if not at or tonumber(at) + GONE < N.s[TS] then return N.wants end
  for numbers, by in string.gmatch(head, '(%[[^%]]*%])|([^|]*)|') do
    local x = decode(numbers)
    local w = N.wants[by] or {}
    N.wants[by] = w
    w[x[1]] = {unpack(x, 2)}
  end
  return N.wants
end

-- anyone tells whether callers of a class wait, as it was when it was written.
function M.anyone(N, c)
  for _, w in pairs(M.wants(N)) do
    if w[c.i] then return true end
  end
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

  -- nodes_of gives what a leaf's nodes are called, with all above them, and what they
  -- weigh. Run and priority are one.
  function M.nodes_of(leaf)
    M.known = M.known or {}
    if M.known[leaf] then return M.known[leaf][1], M.known[leaf][2] end
    local parts, w = M.level(leaf)
    local names, name = {}, ''
    parts[5], w[5] = (parts[5] or '-') .. ' ' .. (parts[6] or '-'), (w[5] or 1) * (w[6] or 1)
    for i = 1, 5 do
      name = name .. (parts[i] or '-') .. '/'
      names[i] = name
    end
    M.known[leaf] = {names, w}
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

  -- entrant is a caller as order wants it.
  function M.entrant(e)
    local names, weights = M.nodes_of(e.leaf)
    return {names = names, weights = weights, a = {unpack(e.x, NUMBER + 1)}, n = e.x[NUMBER], e = e}
  end

  -- sorted puts the callers of a class in order, and all others before them.
  function M.sorted(N, c, list)
    local out, of = {}, {}
    for _, e in ipairs(list) do
      if e.id ~= '' and e.x[OF] == c.i then of[#of + 1] = M.entrant(e) else out[#out + 1] = e end
    end
    if #of > 1 then of = M.order(N, of, 1, '', M.turns_had(N, c)) end
    for _, r in ipairs(of) do out[#out + 1] = r.e end
    return out
  end

  -- arrive gives a newcomer its place, in the list as it would be.
  function M.arrive(N, c, q)
    local n, list, a = 0, {}, q.a
    for i, e in ipairs(M.callers(N)) do
      list[i] = e
      if e.id ~= '' then n = math.max(n, e.x[NUMBER]) end
    end
    q.new = {id = q.id, leaf = q.leaf, by = '', x = {c.i, 0, 0, 0, n + 1, a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]}}
    list[#list + 1] = q.new
    return M.sorted(N, c, list)
  end

  -- look_around finds the request's own place, and sums by ledger what callers of its
  -- class wait for who come before it: all of them, if it does not wait itself.
  function M.look_around(N, c, q)
    q.before, q.looked = 0, true
    local list = M.callers(N)
    for _, e in ipairs(list) do
      if e.id == q.id and e.x[OF] == c.i then q.me = e end
    end
    if q.wait > 0 and not q.me then
      list = M.arrive(N, c, q)
      q.list = list
    end
    for _, e in ipairs(list) do
      if q.wait > 0 and (e == q.me or e == q.new) then return end
      if e.id ~= '' and e ~= q.me and e.x[OF] == c.i then
        q.ahead, q.before = q.ahead or {}, q.before + 1
        local sum = q.ahead[e.by] or {0, 0, 0, 0, 0, 0, 0, 0}
        for u = 1, 8 do sum[u] = sum[u] + e.x[NUMBER + u] end
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
      mine[name] = {x = {c.i, at, at + floor(M.takes(N, q.a) / (weights[i] or 1)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, by = '', id = '', leaf = name}
      newest[level] = at
      level = name
    end
    for _, e in ipairs(M.callers(N)) do
      local past = e.id == '' and e.x[OF] == c.i and (mine[e.leaf] or e.x[ENDED] <= (newest[string.match(e.leaf, '^(.*/)[^/]+/$') or ''] or 0))
      if e ~= q.me and not past then list[#list + 1] = e end
    end
    for _, name in ipairs(names) do list[#list + 1] = mine[name] end
    M.change(N, list)
    M.change(N, M.sorted(N, c, N.callers))
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
    local list = M.callers(N)
    if not me then
      me = q.new
      list = q.list
    end
    local by = no[2] == 'paused' and '!' or (no[9] and no[9].node or '')
    if me == q.new or me.by ~= by or me.x[EASES] ~= retry or t - me.x[ASKED] >= AGAIN then
      me.by = by
      me.x[ASKED], me.x[UNTIL], me.x[EASES] = t, t + q.wait, retry
      M.change(N, list)
    end
    return M.denied(no, retry, q.before + 1, detail)
  end
end
