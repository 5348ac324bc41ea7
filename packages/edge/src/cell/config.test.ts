import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from './fixture/command.ts';
import { RealGuest } from './fixture/real-guest.ts';

/** CAP_CHOWN, CAP_KILL, CAP_SETGID, CAP_SETUID. */
const CAPABILITIES = 0xe1n;
const RLIMIT_NOFILE = 7;
const skip = process.getuid?.() === 0 ? false : 'needs root';

test('CONFIG is applied once per boot, before any command', { skip }, async () => {
  const guest = await RealGuest.start({ pid1: true });
  const config = {
    hostname: 'vivarium',
    loopbackUp: true,
    capKeep: CAPABILITIES,
    sysctls: { 'net.ipv4.ip_unprivileged_port_start': '0' },
    env: { GREETING: 'hello' },
    rlimits: [{ resource: RLIMIT_NOFILE, soft: 100n, hard: 200n }],
    // BPF_RET|BPF_K, SECCOMP_RET_ALLOW: an allowlist of everything.
    seccomp: Buffer.from([0x06, 0, 0, 0, 0, 0, 0xff, 0x7f]),
  };
  try {
    const cell = await guest.open({ config });
    const script = [
      'uname -n',
      'echo $GREETING',
      'ulimit -Sn; ulimit -Hn',
      'cat /proc/sys/net/ipv4/ip_unprivileged_port_start',
      'grep -E "CapEff|Seccomp:" /proc/self/status',
    ].join(';');
    const { stdout } = await (await Command.run(cell, { argv: ['/bin/sh', '-c', script] })).done;
    assert.deepEqual(
      stdout.split(/\s+/).filter((word) => word),
      ['vivarium', 'hello', '100', '200', '0', 'CapEff:', '00000000000000e1', 'Seccomp:', '2'],
    );
    const listener = await cell.listenTcp(80);
    assert.equal(listener.port, 80);
    cell.close();
    const again = await guest.open({ config: { hostname: 'other' } });
    assert.equal((await (await Command.run(again, { argv: ['uname', '-n'] })).done).stdout, 'vivarium\n');
    again.close();
  } finally {
    await guest.stop();
  }
});

test('a CONFIG that can’t be applied makes open() reject with the reason', { skip }, async () => {
  const guest = await RealGuest.start({ pid1: true });
  try {
    await assert.rejects(guest.open({ config: { sysctls: { 'no.such.sysctl': '1' } } }), /CONFIG/);
  } finally {
    await guest.stop();
  }
});
