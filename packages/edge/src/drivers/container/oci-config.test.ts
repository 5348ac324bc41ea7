import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atLeast, probeContainerCapabilities } from './capabilities.ts';
import { KEPT_CAPABILITIES, keptCapabilityMask } from './capability-set.ts';
import { ociConfig } from './oci-config.ts';

type Config = {
  process: { noNewPrivileges: boolean; capabilities: Record<string, string[]> };
  mounts: { destination: string; type: string; source: string; options: string[] }[];
  linux: { namespaces: { type: string; path?: string }[]; maskedPaths: string[] };
};

const limits = { cpuWeight: 100, cpus: 1, memoryMiB: 100, pids: 10, diskMiB: 10, nofile: 100, ptys: 3 };
const OPTIONS = {
  hostname: 'box',
  userNamespace: '/proc/7/fd/9',
  rootfs: '/r',
  init: '/i',
  empty: '/e',
  bootId: '/b',
  limits,
};
const config = ociConfig(OPTIONS) as Config;

test('a cell has five namespaces by crun, and joins a user namespace of its own', () => {
  const types = config.linux.namespaces.map(({ type }) => type).sort();
  assert.deepEqual(types, ['ipc', 'mount', 'network', 'pid', 'user', 'uts']);
  assert.equal(config.linux.namespaces.find(({ type }) => type === 'user')!.path, '/proc/7/fd/9');
});

test('no sysfs, no control groups and nothing of the host are mounted but two files and an empty directory, read-only', () => {
  assert.ok(config.mounts.every(({ type }) => !['sysfs', 'cgroup', 'cgroup2'].includes(type)));
  const binds = config.mounts.filter(({ type }) => type === 'bind');
  for (const { destination, source, options } of binds) {
    const files: Record<string, string> = { '/dev/viv-init': '/i', '/proc/sys/kernel/random/boot_id': '/b' };
    assert.equal(source, files[destination] ?? '/e');
    assert.ok(source === '/i' || destination.startsWith('/proc/'));
    assert.ok(options.includes('ro'));
  }
});

test('only a step of a build can be in the network of the node, with its way to find names and nothing more', () => {
  const { mounts, linux } = ociConfig({ ...OPTIONS, resolvConf: '/r' }) as Config;
  const more = mounts.filter(({ destination }) => !config.mounts.some((other) => other.destination === destination));
  assert.deepEqual(
    more.map(({ destination, source, options }) => [destination, source, options.includes('ro')]),
    [['/etc/resolv.conf', '/r', true]],
  );
  const types = ({ linux: { namespaces } }: Pick<Config, 'linux'>) => namespaces.map(({ type }) => type);
  assert.deepEqual(
    types(config).filter((type) => !types({ linux }).includes(type)),
    ['network'],
  );
});

test('terminals and shared memory are limited', () => {
  const options = (path: string) => config.mounts.find(({ destination }) => destination === path)!.options;
  assert.ok(options('/dev/pts').includes('max=3'));
  assert.ok(options('/dev/shm').includes('size=50m'));
});

test('nothing that reaches beyond the sandbox is among the kept capabilities', () => {
  const dangerous = ['SYS_ADMIN', 'SYS_PTRACE', 'NET_ADMIN', 'NET_RAW', 'SYS_MODULE', 'SYS_RAWIO', 'MKNOD', 'BPF'];
  for (const name of dangerous) assert.ok(!KEPT_CAPABILITIES.includes(`CAP_${name}`));
  assert.equal(keptCapabilityMask(), 0xa00405fbn);
  assert.ok(!config.process.noNewPrivileges, 'sudo works');
});

test('versions are compared by number, not by letter', () => {
  assert.ok(atLeast('6.18.44-vendor', '6.1'));
  assert.ok(atLeast('6.1.0-13-amd64', '6.1'));
  assert.ok(atLeast('1.14.3', '1.8'));
  assert.ok(!atLeast('5.19.0', '6.1'));
  assert.ok(!atLeast('1.5', '1.8'));
  assert.ok(!atLeast('unknown', '1.8'));
});

test('what this machine can do is told with a reason, and a remedy where it can not', () => {
  for (const { name, ok, reason, remedy } of probeContainerCapabilities('/nonexistent/crun')) {
    assert.ok(reason, name);
    assert.equal(remedy === null, ok, name);
  }
});
