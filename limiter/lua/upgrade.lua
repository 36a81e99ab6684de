-- upgrade.lua: brings a ledger of an older program to this one's layout, whoever
-- touches it first. Needs base.lua and ring.lua.
--
-- Schema 2 had the field s where sums is now, and each slot in a field of its own as
-- JSON: I (mod 128) of the minute's, T before it for ten minutes'. Schema 1 had five
-- numbers a limit in cfg, and slots of one class's own, "12.3".
local OLDRING = 128

function M.upgrade(key)
  M.slots()

  -- six adds the shadow that schema 1's limits could not be in.
  local function six(cfg)
    local nC, nD = cfg[1], cfg[2]
    if #cfg == 2 + nD * W + nC then return cfg end
    local new = {nC, nD}
    for i = 3, #cfg do
      new[#new + 1] = cfg[i]
      if i <= 2 + nD * 5 and (i - 2) % 5 == 0 then new[#new + 1] = 0 end
    end
    return new
  end

  -- add adds what v, a slot of all classes or of class own, has.
  local function add(N, slot, v, own, ranks, count)
    for d, y in pairs(ranks) do
      for i = 1, N.nC do
        local x = (i - 1) * count + y
        if own == i then
          slot[x] = slot[x] + v[d]
        elseif not own then
          slot[x] = v[x]
        end
      end
    end
  end

  local v = call('HMGET', key, 'cfg', 's', 'was')
  local text = v[1] and 'cfg' or 'was' -- its limits may have been taken away
  local N = {key = key, cfg = six(decode(v[1] or v[3]))}
  N.nC, N.nD = N.cfg[1], N.cfg[2]
  local s, gone, rings = decode(v[2]), {'s'}, {[MINUTE] = {}, [TEN] = {}}
  local all = call('HGETALL', key)
  for x = 1, #all, 2 do
    local ten, place, own = string.match(all[x], '^(T?)(%d+)%.?(%d*)$')
    if place then
      local win = ten == 'T' and TEN or MINUTE
      local ranks, count = M.ranks(N, win)
      local now = s[win == TEN and CUR10 or CUR]
      local slot = now - (now - tonumber(place)) % OLDRING
      rings[win][slot] = rings[win][slot] or M.zeros(N.nC * count)
      add(N, rings[win][slot], decode(all[x + 1]), tonumber(own), ranks, count)
      gone[#gone + 1] = all[x]
    end
  end
  for win, slots in pairs(rings) do
    local now = s[win == TEN and CUR10 or CUR]
    for e = floor((now - SPAN + 1) / EIGHT), floor(now / EIGHT) do M.keep(key, win, e, slots) end
  end
  call('HSET', key, text, M.pack(N.cfg), 'sums', v[2])
  for i = 1, #gone, 900 do call('HDEL', key, unpack(gone, i, math.min(#gone, i + 899))) end
  return M.pack(N.cfg), v[2]
end
