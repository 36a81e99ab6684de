-- breaker.lua: what breakers close (lua/trip.lua opens them). Needs base.lua;
-- nothing here is made while none is open.
--
-- Fields of the scope hash, absent while none is open:
--   brk      the lanes that have one, a line each; '*' is the whole project
--   b:LANE   (b: of the project) "[since, next look, until (0 = not known), level,
--            looks, 1 = certain, end of the look under way, most ms between looks]"
--            and a line each of reason, permit of the latest look, its lane, who
--            saw it, who may lift it, what the provider said
-- A look is an ordinary permit. It is over when the permit is: by any outcome, or
-- with its lease, of which no more than a minute counts.
local LOOK = 60000
local BACK = 5000 -- ms after which a clock was set back

function M.breakers()
  if M.broken then return end
  M.prefix = string.match(KEYS[1], '^(.*)scope$')

  function M.unpack_breaker(v)
    local b, f = decode(string.match(v, '^[^\n]*')), {}
    for line in string.gmatch(string.match(v, '^[^\n]*(.*)$'), '\n([^\n]*)') do f[#f + 1] = line end
    b.reason, b.probe, b.lane, b.owner, b.lift, b.detail = f[1], f[2], f[3], f[4], f[5], f[6]
    return b
  end

  function M.put_breaker(lane, b)
    call('HSET', KEYS[1], 'b:' .. lane, M.pack(b) .. '\n' .. b.reason .. '\n' .. b.probe .. '\n' .. b.lane ..
      '\n' .. b.owner .. '\n' .. b.lift .. '\n' .. b.detail)
  end

  -- broken gives a lane's breaker as it is at t; nil when it is closed. What a clock
  -- that was set back left in the future comes back with it.
  function M.broken(lane, t, v)
    v = v or call('HGET', KEYS[1], 'b:' .. lane)
    if not v then return nil end
    local b = M.unpack_breaker(v)
    if b[1] > t + BACK then
      local back = b[1] - t
      b[1], b[2], b[7] = t, b[2] - back, b[7] - back
      M.put_breaker(lane, b)
    end
    return b
  end

  -- looking tells whether the look is under way.
  function M.looking(b, t)
    if b.probe == '' or t >= b[7] then return false end
    return call('HGET', M.prefix .. b.lane .. ':permits', b.probe) and true or false
  end

  -- tripped gives the reason, the moment to ask again and the detail of the breaker
  -- that closes this lane longest. Where the next request is the look, M.probing
  -- lists whose.
  function M.tripped(t)
    local own = string.match(KEYS[2], '}:(.*):lane$')
    local v = call('HMGET', KEYS[1], 'b:', 'b:' .. own)
    local reason, ends, detail
    M.probing = nil
    for i, lane in ipairs({'', own}) do
      local b = v[i] and M.broken(lane, t, v[i])
      if b then
        local till = b[2]
        if till <= t and M.looking(b, t) then till = t + 5000 end
        if till > t and (not ends or till > ends) then reason, ends, detail = b.reason, till, b.detail end
        M.probing = M.probing or {}
        M.probing[#M.probing + 1] = {lane, b}
      end
    end
    if reason then M.probing = nil end
    return reason, ends, detail
  end

  -- look notes that a permit is the look of all that is half open, and gives 1.
  function M.look(id, t, ends)
    local own = string.match(KEYS[2], '}:(.*):lane$')
    for _, x in ipairs(M.probing) do
      local b = x[2]
      b[5], b[7] = b[5] + 1, math.min(ends, t + LOOK)
      b.probe, b.lane = id, own
      M.put_breaker(x[1], b)
    end
    M.probing = nil
    return 1
  end
end
