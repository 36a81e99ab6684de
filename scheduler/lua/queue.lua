-- queue.lua: closes or opens one asynq queue by a value of ours, which asynq
-- honours like its own.
--
-- KEYS 1 asynq's pause key of the queue, 2 our note of having closed it (the
--   end in ms, -1 = without end)
-- ARGV 1 our value ('' = to be open), 2 how long it holds in ms (-1 = without
--   end), 3 what our values begin with, 4 '1' = a person's resume counts: close
--   again also what was opened by hand
-- Returns {what, value found}: 'theirs' somebody else's value closes it, which
--   is left alone; 'closed', 'kept', 'opened', 'open' by us; 'taken' we had
--   closed it and our value is gone before its end: a person opened it. Then
--   nothing is changed, so that it is found again until it is dealt with.
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, #ARGV[3]) ~= ARGV[3] then
  redis.call('DEL', KEYS[2])
  return {'theirs', value}
end
if ARGV[1] == '' then
  redis.call('DEL', KEYS[2])
  if value then
    redis.call('DEL', KEYS[1])
    return {'opened', value}
  end
  return {'open', ''}
end
local x = redis.call('TIME')
local now = x[1] * 1000 + math.floor(x[2] / 1000)
if not value and ARGV[4] ~= '1' then
  local ends = tonumber(redis.call('GET', KEYS[2]) or '0')
  if ends < 0 or ends > now then return {'taken', ''} end
end
local lasts = tonumber(ARGV[2])
if lasts < 0 then
  redis.call('SET', KEYS[1], ARGV[1])
  redis.call('SET', KEYS[2], '-1')
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', string.format('%d', lasts))
  -- a little less, so that a value that ran out by itself is never taken for one that was deleted
  redis.call('SET', KEYS[2], string.format('%d', now + lasts - 1000), 'PX', string.format('%d', lasts))
end
return {value and 'kept' or 'closed', value or ''}
