#!/bin/bash
set -eu
cat >/tmp/merge.lua <<'EOF'
local function page(path)
  local bare = path:gsub('/+$', '')
  return 'hits:' .. (bare == '' and '/' or bare)
end
for _, key in ipairs(redis.call('KEYS', 'hit*:/*')) do
  local path = key:match('^hits?:(/.*)$')
  if path and page(path) ~= key then
    redis.call('INCRBY', page(path), redis.call('GET', key))
    redis.call('DEL', key)
  end
end
for _, key in ipairs(redis.call('KEYS', 'day:????-??-??')) do
  if key:match('^day:%d%d%d%d%-%d%d%-%d%d$') then
    local fields = redis.call('HGETALL', key)
    for n = 1, #fields, 2 do redis.call('INCRBY', page(fields[n]), fields[n + 1]) end
    redis.call('DEL', key)
  end
end
return redis.status_reply('OK')
EOF
redis-cli --no-auth-warning --eval /tmp/merge.lua
redis-cli -x FUNCTION LOAD <<'EOF'
#!lua name=visits
redis.register_function('visit', function(keys, args)
  local path = #keys == 1 and keys[1]:match('^hits?:(/.*)$')
  if not path then return redis.error_reply('ERR not a page: hits:PATH') end
  local by = args[1] or '1'
  if #args > 1 or not by:match('^%d+$') or tonumber(by) < 1 then
    return redis.error_reply('ERR not a positive integer')
  end
  local bare = path:gsub('/+$', '')
  return redis.call('INCRBY', 'hits:' .. (bare == '' and '/' or bare), by)
end)
EOF
rm /tmp/merge.lua
