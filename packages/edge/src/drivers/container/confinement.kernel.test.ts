import assert from 'node:assert/strict';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { openShell, type Shell } from '../contract-shell.ts';
import type { CellHandle } from '../driver.ts';
import { idBase } from './id-range.ts';
import { inMountNamespace, openTestNode, type TestNode } from './test-node.ts';

const EPERM = -1;
const ENOSYS = -38;
const EAFNOSUPPORT = -97;
const EPROTONOSUPPORT = -93;
const ENOTTY = -25;
const GETEUID = 107;
const CLONE_NEWUSER = 0x10000000;

/** What the tool `syscall` prints for a call: `[why, number, arguments, result]`. */
const REFUSED: [string, string, number][] = [
  ['mount', '165 0 0 0 0 0', EPERM],
  ['umount2', '166 0 0', EPERM],
  ['fsopen', '430 0 0', EPERM],
  ['open_tree', '428 0 0 0', EPERM],
  ['pivot_root', '155 0 0', EPERM],
  ['bpf', '321 0 0 0', EPERM],
  ['keyctl', '250 0 0', EPERM],
  ['kexec_load', '246 0 0 0 0', EPERM],
  ['userfaultfd', '323 0', EPERM],
  ['perf_event_open', '298 0 0 0 0 0', EPERM],
  ['init_module', '175 0 0 0', EPERM],
  ['setns', '308 0 0', EPERM],
  ['reboot', '169 0 0 0', EPERM],
  ['syslog', '103 3 0 0', EPERM],
  ['open_by_handle_at', '304 0 0 0', EPERM],
  ['clone of a user namespace', `56 ${CLONE_NEWUSER} 0 0 0 0`, EPERM],
  ['unshare of a user namespace', `272 ${CLONE_NEWUSER}`, EPERM],
  ['unshare of a time namespace', '272 0x80', EPERM],
  ['clone3, so that callers fall back to clone', '435 0 0', ENOSYS],
  ['io_uring_setup', '425 1 0', ENOSYS],
  ['a system call of the future', '999 0', ENOSYS],
  ['an x32 call', '0x40000027', ENOSYS],
  ['AF_VSOCK', '41 40 1 0', EAFNOSUPPORT],
  ['AF_PACKET', '41 17 3 0', EAFNOSUPPORT],
  ['AF_ALG', '41 38 5 0', EAFNOSUPPORT],
  ['netfilter netlink', '41 16 3 12', EPROTONOSUPPORT],
  ['TIOCSTI', '16 0 0x5412 0', EPERM],
  ['TIOCSTI with set upper bits', '16 0 0x100005412 0', EPERM],
  ['creation of a btrfs subvolume', '16 0 0x5000940e 0', EPERM],
  ['a btrfs snapshot', '16 0 0x50009417 0', EPERM],
  ['limits of process 1', '302 1 7 1 0', EPERM],
  ['a foreign personality', '135 0x0400000', EPERM],
];

if (inMountNamespace(import.meta.filename)) {
  describe('confinement of a container', () => {
    let node: TestNode;
    let cell: CellHandle;
    let shell: Shell;
    const pid = () => cell.record.pid as number;

    before(async () => {
      node = await openTestNode();
      cell = await node.driver.start({
        id: `confined${process.pid}`,
        hostname: 'confined',
        layers: node.layers,
        limits: { cpuWeight: 100, cpus: 2, memoryMiB: 64, pids: 64, diskMiB: 32, nofile: 100, ptys: 2 },
        env: {},
      });
      shell = await openShell(cell);
    });
    after(async () => {
      shell.close();
      await cell.destroy();
      await node.close();
    });

    const output = async (script: string, user?: string) => (await shell.run(script, user)).stdout.trim();

    for (const [name, call, result] of REFUSED)
      test(`root inside is refused ${name}`, async () => {
        assert.equal(Number(await output(`syscall ${call}`)), result);
      });

    test('ordinary calls work', async () => {
      assert.ok(Number(await output('syscall 41 1 1 0')) > 0, 'unix socket');
      assert.ok(Number(await output('syscall 41 16 3 0')) > 0, 'route netlink socket');
      assert.equal(Number(await output('syscall 16 1 0x5413 0')), ENOTTY, 'another ioctl of a terminal');
      assert.equal(await output('syscall 272 0'), '0', 'unshare of nothing');
      assert.equal(await output('syscall 135 0xffffffff'), '0', 'query of the personality');
    });

    test('root inside is an ordinary user of its own range outside', async () => {
      assert.equal(await output('id -u'), '0');
      const status = readFileSync(`/proc/${pid()}/status`, 'utf8');
      assert.match(status, new RegExp(`^Uid:\\t${idBase(cell.record.slot as number)}\\t`, 'm'));
      const other = await node.driver.start({ ...specOf(cell), id: `other${process.pid}` });
      assert.notEqual(other.record.slot, cell.record.slot);
      await other.destroy();
    });

    test('every namespace is its own', () => {
      for (const name of ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'])
        assert.notEqual(readlinkSync(`/proc/${pid()}/ns/${name}`), readlinkSync(`/proc/self/ns/${name}`), name);
    });

    test('commands have the kept capabilities only, a seccomp filter, and may gain privileges by set-user-id', async () => {
      const status = await output('cat /proc/self/status');
      assert.match(status, /^CapEff:\t00000000a00405fb$/m);
      assert.match(status, /^CapBnd:\t00000000a00405fb$/m);
      assert.match(status, /^Seccomp:\t2$/m);
      assert.match(status, /^NoNewPrivs:\t0$/m);
      assert.match(readFileSync(`/proc/${pid()}/status`, 'utf8'), /^CapBnd:\t00000000a00405fb$/m);
      await shell.run('cp /usr/bin/syscall /tmp/syscall; chmod 4755 /tmp/syscall');
      assert.equal(await output(`/tmp/syscall ${GETEUID}`, 'user'), '0');
    });

    test('root inside cannot look into or end PID 1', async () => {
      assert.notEqual((await shell.run('readlink /proc/1/fd/3')).code, 0);
      assert.notEqual((await shell.run('exec 5<>/proc/1/fd/3')).code, 0);
      assert.equal(await output('ls /proc/1/map_files/'), '');
      assert.notEqual((await shell.run('cat /proc/1/environ')).code, 0);
      assert.notEqual((await shell.run('cat /proc/1/mem')).code, 0);
      assert.equal(Number(await output('syscall 101 16 1 0 0')), EPERM, 'ptrace');
      assert.notEqual((await shell.run('readlink /proc/1/exe')).code, 0);
      await shell.run('kill -9 1; kill -STOP 1; kill -TERM 1');
      assert.equal(await output('echo alive'), 'alive');
    });

    test('commands inherit no descriptor but their three', async () => {
      assert.equal(await output('for n in 0 1 2 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$n && echo $n; done'), '0\n1\n2');
    });

    test('the only network is loopback, and it is up', async () => {
      assert.equal(await output('ls /proc/sys/net/ipv4/conf'), 'all\ndefault\nlo');
      assert.match(await output('ip link show lo'), /<LOOPBACK,UP/);
      assert.equal((await shell.run('ip link add dummy0 type dummy')).code === 0, false);
    });

    test('kernel files that tell of the host are masked, those that change it read-only', async () => {
      assert.equal(await output('cat /proc/interrupts /proc/keys /proc/timer_list 2>/dev/null'), '');
      if (existsSync('/proc/acpi')) {
        assert.match(await output('grep " /proc/acpi " /proc/self/mountinfo'), / ro,nosuid,nodev,noexec/);
        assert.equal(await output('ls -A /proc/acpi; touch /proc/acpi/x 2>/dev/null || echo refused'), 'refused');
      }
      assert.notEqual((await shell.run('echo 1 > /proc/sys/kernel/panic')).code, 0);
      assert.notEqual((await shell.run('echo 1 > /proc/sys/net/ipv4/ip_forward')).code, 0);
      assert.notEqual((await shell.run('echo h > /proc/sysrq-trigger')).code, 0);
      assert.equal(await output('ls /sys'), '');
    });

    test('what it may watch is its own: limits of its user namespace that it cannot raise', async () => {
      assert.equal(await output('cat /proc/sys/user/max_inotify_instances'), '128');
      assert.equal(await output('cat /proc/sys/user/max_inotify_watches'), '65536');
      assert.notEqual((await shell.run('echo 999 > /proc/sys/user/max_inotify_instances')).code, 0);
      assert.notEqual((await shell.run('mount -o remount,rw,bind /proc/sys')).code, 0);
      assert.ok(Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8')) > 128 * 1000);
    });

    test('an ordinary user can listen on a low port', async () => {
      assert.equal(await output('cat /proc/sys/net/ipv4/ip_unprivileged_port_start'), '0');
    });

    test('devices are the harmless few, and no other can be made', async () => {
      const names = (await output('ls /dev')).split('\n').sort();
      const expected = 'core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom viv-init zero';
      assert.deepEqual(names, expected.split(' '));
      assert.notEqual((await shell.run('mknod /root/disk b 254 0')).code, 0);
      assert.notEqual((await shell.run('echo x > /dev/viv-init')).code, 0);
      assert.notEqual((await shell.run('rm /dev/viv-init')).code, 0);
    });

    test('pseudo-terminals and descriptors end at their limits', async () => {
      assert.equal(await output('ulimit -n; ulimit -Hn'), '100\n100');
      const open = 'exec 5<>/dev/ptmx 6<>/dev/ptmx && exec 7<>/dev/ptmx';
      assert.notEqual((await shell.run(open)).code, 0);
      assert.equal((await shell.run('exec 5<>/dev/ptmx')).code, 0);
    });

    test('files in memory count as memory', async () => {
      const { memoryBytes } = await cell.usage();
      await shell.run('dd if=/dev/zero of=/dev/shm/file bs=1M count=16');
      const after = (await cell.usage()).memoryBytes;
      assert.ok(after - memoryBytes > 12 * 1024 * 1024, `${memoryBytes} then ${after}`);
      await shell.run('rm /dev/shm/file');
    });

    test('the control groups inside begin at the sandbox', async () => {
      assert.doesNotMatch(await output('cat /proc/self/cgroup'), /vivarium|confined/);
    });
  });
}

function specOf(cell: CellHandle): Parameters<TestNode['driver']['start']>[0] {
  return { ...(cell.record as never as Parameters<TestNode['driver']['start']>[0]), layers: layersOf(cell) };
}

function layersOf(cell: CellHandle): { digest: string; path: string }[] {
  return (cell.record.layers as string[]).map((path) => ({ digest: path, path }));
}
