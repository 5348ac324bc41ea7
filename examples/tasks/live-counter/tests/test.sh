#!/bin/bash
# Asks the live server. Runs with the grader's own bash and busybox; nothing of the sandbox's files is used.
set -u
REWARD=/logs/verifier/reward.txt
failed() {
  echo "failed: $*"
  echo 0 >$REWARD
  exit 0
}

# One command in, what the server answers out. QUIT ends the connection; the limit holds against one that never does.
ask() {
  local words=("$@") word length
  {
    printf '*%d\r\n' "${#words[@]}"
    for word in "${words[@]}"; do
      length=${#word}
      printf '$%d\r\n%s\r\n' "$length" "$word"
    done
    printf '*1\r\n$4\r\nQUIT\r\n'
  } | timeout 5 nc 127.0.0.1 6379 2>/dev/null | head -c 65536 | tr -d '\r' | sed '$d'
}

# The server's answers in these forms.
expect() {
  local want=$1 got
  shift
  got=$(ask "$@")
  [ "$got" = "$want" ] || failed "$*: ${got:0:200}, should be ${want:0:200}"
}
count() { expect "\$${#2}"$'\n'"$2" GET "hits:$1"; }
refused() {
  local got
  got=$(ask "$@")
  case $got in -*) ;; *) failed "$*: ${got:0:200}, should be an error" ;; esac
}

expect +PONG PING
count / 1061
count /about 50
count /news 308
count /news/2024/05 18
count /shop 70
count '/a b' 12
count /contact 1
expect '$2'$'\n'12 GET hits
expect '$2'$'\n'99 GET hitsong:/about
expect '*2'$'\n''$3'$'\n'one$'\n''$3'$'\n'two LRANGE queue 0 -1
expect :1 SISMEMBER banned 10.0.0.9
expect :2 SCARD banned
expect '$17'$'\n''no visits in here' HGET day:notes text
expect '$2'$'\n'77 GET visitors:today
left=$(ask TTL visitors:today)
[ "${left#:}" -gt 800000 ] && [ "${left#:}" -le 864000 ] || failed "the time to live of visitors:today is $left"
expect :14 DBSIZE

# A page that nobody could know of.
page=/$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
by=$((RANDOM + 2))
expect ":$by" FCALL visit 1 "hit:$page//" "$by"
expect ":$((by + 1))" FCALL visit 1 "hits:$page"
expect ":$((by + 6))" FCALL visit 1 "hits:$page/" 5
expect ":$((by + 7))" FCALL visit 1 "hit:$page" 1
count "$page" $((by + 7))
expect :1062 FCALL visit 1 hits:///
for wrong in 0 -1 x 1.5 ''; do refused FCALL visit 1 "hits:$page" "$wrong"; done
refused FCALL visit 1 "hitsong:$page"
count "$page" $((by + 7))
expect :15 DBSIZE
expect :1061 DECR hits:/
expect :1 DEL "hits:$page"
echo 'passed: every question was answered as it should be'
echo 1 >$REWARD
