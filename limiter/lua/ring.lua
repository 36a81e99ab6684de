-- ring.lua: what was used in the slots of the sliding windows. Needs base.lua.
--
-- Eight slots are one field of a ledger's hash, "1:G" of the minute's and "10:G" of
-- the ten minutes', where G is the eighth of the slot mod 17: one more than a window
-- touches. It has the eighth, and then for each slot in which something was used: its
-- place among the eight, and for each class the use of each dim of the window. The
-- numbers are bytes of seven bits, the low ones first, 128 added while more follow:
-- nearly all amounts are small, and a field each with JSON in it took three times as much.
-- Tables have slots as keys, never eighths: an embedded Redis makes an array of all numbers
-- up to a key below 67 million, and eighths of ten minutes' slots are.
local EIGHT, GROUPS = 8, 17

-- rings makes what reads and writes slots.
function M.rings()
  if M.used_in then return end
  local byte, char = string.byte, string.char

  function M.write_numbers(t)
    local p, n = {}, 0
    for i = 1, #t do
      local x = t[i]
      while x >= 128 do
        local low = x % 128
        n = n + 1
        p[n] = char(low + 128)
        x = (x - low) / 128
      end
      n = n + 1
      p[n] = char(x)
    end
    return table.concat(p)
  end

  function M.read_numbers(text)
    local t, n, x, by = {}, 0, 0, 1
    for i = 1, #text do
      local b = byte(text, i)
      if b < 128 then
        n = n + 1
        t[n] = x + b * by
        x, by = 0, 1
      else
        x = x + (b - 128) * by
        by = by * 128
      end
    end
    return t
  end

  function M.group(win, eighth) return format(win == TEN and '10:%d' or '1:%d', eighth % GROUPS) end

  -- read_group adds to slots what an eighth's field has; of another time's it has nothing.
  function M.read_group(text, eighth, width, slots)
    local t = M.read_numbers(text)
    if t[1] ~= eighth then return end
    for i = 2, #t, width + 1 do
      local v = {}
      for j = 1, width do v[j] = t[i + j] end
      slots[eighth * EIGHT + t[i]] = v
    end
  end

  -- used_in gives the slots first..last (those of the same eighths too) in which
  -- something was used: for each, class by class the use of the window's dims.
  function M.used_in(N, win, first, last)
    local _, count = M.ranks(N, win)
    local f, slots, from = {}, {}, floor(first / EIGHT)
    for e = from, floor(last / EIGHT) do f[#f + 1] = M.group(win, e) end
    for x, text in ipairs(call('HMGET', N.key, unpack(f))) do
      if text then M.read_group(text, from + x - 1, N.nC * count, slots) end
    end
    return slots
  end

  -- keep writes an eighth, of which slots has all; nothing where there is none.
  function M.keep(key, win, eighth, slots)
    local t = {eighth}
    for m = eighth * EIGHT, eighth * EIGHT + EIGHT - 1 do
      if slots[m] then
        t[#t + 1] = m % EIGHT
        for _, x in ipairs(slots[m]) do t[#t + 1] = x end
      end
    end
    if #t > 1 then call('HSET', key, M.group(win, eighth), M.write_numbers(t)) end
  end

  -- close_slot writes a slot that is over.
  function M.close_slot(N, win, slot, v)
    local slots = M.used_in(N, win, slot, slot)
    slots[slot] = v
    M.keep(N.key, win, floor(slot / EIGHT), slots)
  end

  -- forget_to lets the eighths go that are over by the end of slots first..last.
  function M.forget_to(N, win, first, last)
    local f = {}
    for e = floor(first / EIGHT), floor((last + 1) / EIGHT) - 1 do f[#f + 1] = M.group(win, e) end
    if #f > 0 then call('HDEL', N.key, unpack(f)) end
  end

  -- all_groups names every field.
  function M.all_groups()
    local f = {}
    for e = 0, GROUPS - 1 do
      f[#f + 1] = M.group(MINUTE, e)
      f[#f + 1] = M.group(TEN, e)
    end
    return f
  end
end
