#!/bin/bash
# The counts come in once the server answers; then they are in its memory only.
{
  until redis-cli ping >/dev/null 2>&1; do sleep 0.05; done
  redis-cli </opt/counter/seed.redis >/dev/null
} &
cd /
exec redis-server --bind 127.0.0.1 --port 6379 --save '' --appendonly no --logfile '' --daemonize no
