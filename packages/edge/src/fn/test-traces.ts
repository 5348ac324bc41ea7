import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Leaves what a shell can't: a daemon that left everything and holds an abstract socket, System V objects, a queue; a key of its user would be the seventh, but keyrings are refused. */
const LEAVE = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
int main(int argc, char **argv) {
  if (argc > 1) {
    long key = syscall(SYS_request_key, "user", "left", NULL, -4);
    printf("key %d\\n", key > 0);
    return 0;
  }
  int made = 0;
  made += shmget(4711, 4096, IPC_CREAT | 0666) >= 0;
  made += semget(4711, 1, IPC_CREAT | 0666) >= 0;
  made += msgget(4711, IPC_CREAT | 0666) >= 0;
  made += mq_open("/left", O_CREAT | O_RDWR, 0666, NULL) >= 0;
  made += shm_open("/left", O_CREAT | O_RDWR, 0666) >= 0;
  made += syscall(SYS_add_key, "user", "left", "x", 1, -4) > 0;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path + 1, "left");
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  made += !bind(fd, (struct sockaddr *)&address, sizeof address) && !listen(fd, 1);
  if (!fork()) {
    setsid();
    if (!fork()) {
      for (int i = 0; i < 3; i++) close(i);
      for (;;) pause();
    }
    _exit(0);
  }
  printf("made %d\\n", made);
  return 0;
}
`;

/** The program, for a call's files. Needs musl-tools. */
export function leaveProgram(): Uint8Array {
  const dir = mkdtempSync(join(tmpdir(), 'viv-leave-'));
  try {
    writeFileSync(join(dir, 'leave.c'), LEAVE);
    execFileSync('musl-gcc', ['-static', '-Os', '-o', join(dir, 'leave'), join(dir, 'leave.c')]);
    return readFileSync(join(dir, 'leave'));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Leaves something in every directory that can be written, wherever it is mounted, and changes what is there. */
export const LEAVE_SCRIPT = `
./leave
(while :; do sleep 1; done) >/dev/null 2>&1 </dev/null &
nohup sleep 1000 >/dev/null 2>&1 </dev/null &
awk '{print $5}' /proc/self/mountinfo > /tmp/mounts
find $(sort -u /tmp/mounts | grep -v ^/proc) -xdev -type d 2>/dev/null | while read -r dir; do
  echo left > "$dir/left" 2>/dev/null; mkdir "$dir/left.d" 2>/dev/null; mkfifo "$dir/left.p" 2>/dev/null
  chmod 777 "$dir" 2>/dev/null
done
mkdir -p /var/spool/cron/crontabs /var/spool/at 2>/dev/null
echo '* * * * * true' > /var/spool/cron/crontabs/root
echo 'evil:x:0:0::/:/bin/sh' >> /etc/passwd
rm -f /bin/ls /bin/busybox.old; cp /bin/busybox /bin/evil; echo x >> /bin/evil; mv /bin/evil /bin/busybox
chown 1000 / ; chmod 700 /root
hostname left; ip link set lo mtu 1000; ip addr add 10.9.9.9/32 dev lo
mount -t tmpfs left /mnt; echo 1 > /proc/sys/net/ipv4/ip_forward; echo 77 > /proc/sys/kernel/msgmni
echo left > /proc/sys/kernel/hostname; echo 500 > /proc/self/oom_score_adj; ulimit -n 64
true
`;

/** More than is worth taking away file by file, and what is hard to. */
export const LEAVE_MUCH_SCRIPT = `
i=0; while [ $i -lt 300 ]; do echo x > /var/left.$i 2>/dev/null || echo x > /tmp/left.$i; i=$((i+1)); done
cd /tmp; i=0; while [ $i -lt 60 ]; do mkdir -p deeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeep; cd de*p; i=$((i+1)); done
dd if=/dev/zero of=/tmp/large bs=1M count=20 2>/dev/null
printf 'x' > "/tmp/$(printf '\\377\\376name')"
true
`;

/** All that one can see of a container's state from inside, as its root. */
export const LOOK_SCRIPT = `
chmod 755 ./leave; ./leave look
ps -o pid,user,args | grep -v -e ' ps -o' -e grep -e '\\[exe\\]' -e '/bin/sh' -e ./leave
cat /proc/sysvipc/* /proc/net/unix /proc/net/dev /proc/net/route /proc/net/fib_trie | grep -v '^ *lo:'
hostname; ip addr; ls /dev/mqueue /dev/shm
awk '{print $4, $5, $6, $(NF-2), $NF}' /proc/self/mountinfo
cat /proc/sys/kernel/msgmni /proc/sys/net/ipv4/ip_forward /proc/1/oom_score_adj
awk '{print $5}' /proc/self/mountinfo | sort -u | grep -v -e ^/proc > /tmp/m
find $(cat /tmp/m) -xdev 2>/dev/null | grep -v -e ^/tmp/m$ -e ^/tmp/fn -e ^/dev/pts/ | sort -u | while read -r f; do
  stat -c '%n %F %a %u %g %s' "$f"; [ -f "$f" ] && md5sum "$f"
done
true
`;
