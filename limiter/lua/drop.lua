-- drop.lua: takes tickets of a lane out of their lines, and callers who wait in place
-- by the id of their request.
--
-- ARGV[3] 'tickets' or 'leaf'; ARGV[4].. the tickets, or the leaf without its
--   last level and how many chunks of 32 may be looked at
-- Returns {alert, now, dropped, 1 if there is more}. {-1, now} when the lane has no limits.

-- empty drops what waits in a leaf, chunk by chunk; false when the budget ends.
function M.empty(N, c, name, f, budget)
  local dropped = 0
  local function clear(key, seq)
    local i = 0
    for x in string.gmatch(call('HGET', KEYS[5], key) or '', '[^\n]+') do
      local tk = M.read_ticket(x)
      if tk and not tk.released and tk.id == f[ID] and (seq < 0) == (tk.seq < 0) and (seq < 0 or tk.seq == seq + i) then
        call('HDEL', KEYS[5], x)
        M.unbook(c, f, tk.a)
        dropped = dropped + 1
      end
      i = i + 1
    end
    call('HDEL', KEYS[5], key)
  end
  if f[FRONT] > 0 then clear(M.front(f[ID]), -1) end
  f[FRONT] = 0
  while f[FIRST] < f[NEXT] and budget > 0 do
    clear(M.chunk(f[ID], f[FIRST]), f[FIRST] - f[FIRST] % CHUNK)
    f[FIRST] = math.min(f[NEXT], f[FIRST] - f[FIRST] % CHUNK + CHUNK)
    budget = budget - 1
  end
  if f[FIRST] == f[NEXT] and f[NEXT] % CHUNK ~= 0 then
    f[NEXT] = f[NEXT] + CHUNK - f[NEXT] % CHUNK
    f[FIRST] = f[NEXT]
  end
  M.put_leaf(c, name, f)
  return dropped, budget
end

function M.drop_released(N, ids)
  local n = 0
  for _, m in ipairs(call('ZRANGEBYSCORE', KEYS[4], '-inf', '(0')) do
    local tk = M.read_ticket(string.sub(m, 2))
    if tk and tk.released and ids[tk.id] then
      M.drop(N, string.sub(m, 2), tk)
      n = n + 1
    end
  end
  return n
end

function M.drop_leaf(N, prefix, budget)
  local n, ids, any = 0, {}, false
  local all = call('HGETALL', KEYS[6])
  for i = 1, #all, 2 do
    local owner, name = string.match(all[i], '^([^#|]+)|(.*)$')
    local c = owner and M.class(N, owner)
    if c and string.match(name, '^(.*)/[^/]*$') == prefix then
      local f, k = decode(all[i + 1]), 0
      ids[f[ID]], any = true, true
      k, budget = M.empty(N, c, name, f, budget)
      n = n + k
      if budget <= 0 then return n, 1 end
    end
  end
  if any then n = n + M.drop_released(N, ids) end
  return n, 0
end

M.lines()
local N, t = M.open('')
if not N then return {-1, t} end
M.know()
local n, more = 0, 0
if ARGV[3] == 'leaf' then
  n, more = M.drop_leaf(N, ARGV[4], tonumber(ARGV[5]))
else
  local ids = {}
  for i = 4, #ARGV do
    local tk = M.read_ticket(ARGV[i])
    ids[ARGV[i]] = true
    if tk then
      M.drop(N, ARGV[i], tk)
      n = n + 1
    end
  end
  if N.inplace then
    M.in_place()
    n = n + M.leave_place(N, ids)
  end
end
M.save(N)
return {N.rebased, t, n, more}
