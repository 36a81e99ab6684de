-- pause.lua: pauses or throttles a target, or lifts one reason to. Needs closing.lua.
--
-- KEYS 1 scope
-- ARGV 1 now in ms ('' = Redis's TIME), 2 target, 3 reason, 4 end in ms (-1 =
--   until lifted), 5 what the scripts read of it: for a pause the text of a
--   refusal, for a throttle "from|to|ramp from|ramp to|text" (ppm, ms), 6 all of
--   it as JSON ('' = lift it)
-- Targets: p:CLASS, pr:RUN, pq:LANE\nPRIORITY (no priority: all of the lane) for
--   pauses, t:CLASS for throttles.
-- Fields: zTARGET\nREASON is "end|ARGV 5\nJSON"; TARGET is "end|text" of the pause
--   that holds longest, or a line "end|ARGV 5" for each throttle; held is the
--   latest end of all, heldleaf that of pauses of runs and queues (both absent
--   when there are none): what the other scripts look at first.
-- Returns how many hold on the target.
local call = redis.call
local t = tonumber(ARGV[1])
if not t then
  local x = call('TIME')
  t = x[1] * 1000 + math.floor(x[2] / 1000)
end

local function later(a, b) return not b or (b >= 0 and (a < 0 or a > b)) end

-- sort_out gives what holds by target, and forgets what has ended.
local function sort_out()
  local holds, all = {}, call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local target, reason = string.match(all[i], '^z(.*)\n([^\n]*)$')
    if target then
      local line, ends = string.match(all[i + 1], '^((%-?%d+)|[^\n]*)')
      ends = tonumber(ends)
      if ends >= 0 and ends <= t then
        call('HDEL', KEYS[1], all[i])
      else
        holds[target] = holds[target] or {}
        table.insert(holds[target], {reason = reason, ends = ends, line = line})
      end
    elseif string.find(all[i], '^pr?q?:') or string.find(all[i], '^t:') then
      call('HDEL', KEYS[1], all[i])
    end
  end
  return holds
end

-- sum_up is what the scripts read of a target. Of equals the first reason counts,
-- so that nothing depends on the hash's order.
local function sum_up(target, list)
  table.sort(list, function(a, b) return a.reason < b.reason end)
  local longest, lines = nil, {}
  for i, x in ipairs(list) do
    if not longest or later(x.ends, longest.ends) then longest = x end
    lines[i] = x.line
  end
  return longest.ends, string.sub(target, 1, 1) == 't' and table.concat(lines, '\n') or longest.line
end

local function keep(field, ends)
  if ends then call('HSET', KEYS[1], field, string.format('%d', ends)) else call('HDEL', KEYS[1], field) end
end

local field = 'z' .. ARGV[2] .. '\n' .. ARGV[3]
note_closed(string.match(KEYS[1], '^(.*)scope$'), ARGV[2], ARGV[3], t, ARGV[6] == '' and 0 or tonumber(ARGV[4]))
if ARGV[6] == '' then
  call('HDEL', KEYS[1], field)
else
  call('HSET', KEYS[1], field, ARGV[4] .. '|' .. ARGV[5] .. '\n' .. ARGV[6])
end
local holds = sort_out()
local last, leaf
for target, list in pairs(holds) do
  local ends, text = sum_up(target, list)
  call('HSET', KEYS[1], target, text)
  if later(ends, last) then last = ends end
  if string.find(target, '^p[rq]') and later(ends, leaf) then leaf = ends end
end
keep('held', last)
keep('heldleaf', leaf)
return holds[ARGV[2]] and #holds[ARGV[2]] or 0
