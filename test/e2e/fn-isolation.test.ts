import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';

let node: TestNode;
before(async () => {
  node = await startTestNode();
});
after(() => node.purge());

/**
 * Everything by which a program can tell how it is confined. Ids and sizes that differ between any two containers are left out, the mark of a
 * command (a limit that means nothing to Linux) and its own control group, too; more flags on a read-only part of /proc are no less.
 */
const LOOK = `
echo "== process"; grep -v -e ^Name -e ^Pid -e ^PPid -e ^NS -e ^Vm -e ^Rss -e Threads -e ctxt_switches -e ^SigQ -e ^Hugetlb -e ^Cpus -e ^Mems -e ^FDSize -e ^Tgid -e Speculation /proc/self/status
echo "== init"; grep -e ^Cap -e ^Seccomp -e ^NoNew -e ^Uid -e ^Gid -e ^Groups /proc/1/status
grep -v 'Max file locks' /proc/self/limits; cat /proc/self/oom_score_adj
echo "== ids"; sed 's/ *[0-9]* *$//;s/^ *\\([0-9]*\\) *[0-9]* */\\1 /' /proc/self/uid_map /proc/self/gid_map; cat /proc/self/setgroups
echo "== mounts"; awk '{ at = $5; own = $6; sub(/^.* - /, ""); print at, own, $1, $3 }' /proc/self/mountinfo | sed 's/\\(lowerdir\\|upperdir\\|workdir\\|lowerdir+\\)=[^, ]*//g;s/[ug]id=[0-9]*//g;s/size=[0-9]*k//g;s/ro,nosuid,nodev,noexec,relatime proc/ro,relatime proc/' | sort
echo "== dev"; ls -la /dev /dev/pts /dev/shm | sed 's/ [A-Z][a-z][a-z] *[0-9]* *[0-9:]* / /;s/^total.*//'
echo "== sysctl"; for f in /proc/sys/kernel/hostname /proc/sys/kernel/msgmni /proc/sys/net/ipv4/ip_forward /proc/sys/vm/swappiness /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/irq /proc/bus; do
  (echo 0 > $f) 2>/dev/null && echo "written $f"; [ -w $f ] && echo "writable $f"
done; cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/ipv4/ping_group_range
echo "== masked"; for f in /proc/kcore /proc/keys /proc/timer_list /proc/sched_debug /proc/scsi /proc/acpi /sys/firmware /proc/latency_stats; do
  ls -ld $f 2>/dev/null | cut -c1-20; head -c 1 $f 2>/dev/null | wc -c; ls $f 2>/dev/null | wc -l
done
echo "== can"; for try in "unshare -m true" "unshare -U true" "unshare -n true" "mount -t tmpfs x /mnt" "mount -t proc x /mnt" "mknod /tmp/null c 1 3" "chroot / true" "dmesg" "date -s 2020-01-01" "hostname x" "cat /proc/1/environ" "ls /proc/1/fd" "kill -9 1" "swapoff -a" "ip link add d type dummy" "nsenter -t 1 -m true" "dd if=/dev/mem of=/dev/null count=1" "su nobody -s /bin/true"; do
  $try >/dev/null 2>&1; echo "$try: $?"
done
echo "== net"; ip -o addr 2>/dev/null | sed 's/.*inet/inet/'; cat /proc/net/route; ls /sys /sys/class/net 2>/dev/null
echo "== descriptors"; ls /proc/self/fd | head -4 | wc -l
echo "== namespaces"; ls /proc/self/ns; sed 's/^[0-9]*//;s/:freezer:.*/:freezer:/' /proc/self/cgroup
cat /proc/sys/kernel/random/boot_id | wc -c
`;

test('a container for calls confines as every other container does', async () => {
  const limits = { memoryMiB: 256, pids: 100, nofile: 512, ptys: 4 };
  const sandbox = await node.viv.sandboxes.create({ image: IMAGE, limits, name: 'same' });
  const wanted = await sandbox.exec(['sh', '-c', LOOK], { cwd: '/' });
  await sandbox.kill();
  // The second one is a cell that was made anew.
  for (let round = 0; round < 2; round++) {
    const got = await node.viv.fn.run({ image: IMAGE, limits, argv: ['sh', '-c', LOOK], cwd: '/' });
    assert.deepEqual(got.stdout.split('\n'), wanted.stdout.split('\n'));
    assert.equal(got.stderr, wanted.stderr);
  }
  assert.match(wanted.stdout, /Seccomp:\s+2/);
  assert.match(wanted.stdout, /== can[^=]*kill -9 1: 0/, 'the look is not blind');
});
