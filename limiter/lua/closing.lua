-- closing.lua: remembers from when to when something was closed, for those who ask
-- later what they waited for. Concatenated, never run alone.
--
-- The hash closed:TARGET has by reason "from,to;from,to;..." in ms, the oldest first;
-- to is -1 while nobody knows the end. It goes two months after it was written last.
-- Targets: those of pause.lua, c:LANE for rests, b:LANE for breakers (b: is the
-- project's), m:NODE|CLASS for money, s:RUN for a run that has but a part.
local CLOSEDKEPT = 5184000000
local CLOSEDMOST = 16000 -- bytes of a reason, some 600 times; the oldest go

-- note_closed says that the target is closed from now to ends (-1: until it is said
-- otherwise), or with ends <= t that it is open. What holds already goes on.
local function note_closed(prefix, target, reason, t, ends)
  local key = prefix .. 'closed:' .. target
  local all = redis.call('HGET', key, reason) or ''
  local last = string.match(string.sub(all, -32), '%d+,%-?%d+;$') or ''
  local from, to = string.match(last, '^(%d+),(%-?%d+);$')
  from, to = tonumber(from), tonumber(to)
  local holds = from and (to < 0 or to >= t)
  local opens = ends >= 0 and ends <= t
  if opens and not holds then return end
  if holds then
    all = string.sub(all, 1, #all - #last)
  else
    from = t
  end
  if opens then ends = math.max(t, from) end
  all = all .. string.format('%d,%d;', from, ends)
  if #all > CLOSEDMOST then all = string.sub(all, string.find(all, ';', #all - CLOSEDMOST, true) + 1) end
  redis.call('HSET', key, reason, all)
  redis.call('PEXPIRE', key, CLOSEDKEPT)
end
