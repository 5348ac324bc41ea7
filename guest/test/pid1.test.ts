// viv-init as what it is: pid 1 of its own namespaces, confined by CONFIG.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OP, refusal, stat } from './files.ts';
import { alive, Guest, type Link, until } from './guest.ts';
import { parseTlv, T, type TlvItem, tlv, u32, u64 } from './wire.ts';

const EPERM = 1;
// What container runtimes keep by default: no SYS_ADMIN, no SYS_PTRACE, no SYS_TIME, no NET_ADMIN.
const KEEP = 0xa80425fbn;
const SYS_MKDIR = 83;

/** A filter under which mkdir(2) is EPERM and all else allowed: `struct sock_filter` {code, jt, jf, k}. */
function filterMkdir(): Buffer {
  const instruction = (code: number, jt: number, jf: number, k: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt16LE(code, 0);
    bytes[2] = jt;
    bytes[3] = jf;
    bytes.writeUInt32LE(k, 4);
    return bytes;
  };
  return Buffer.concat([
    instruction(0x20, 0, 0, 0), // load the system call's number
    instruction(0x15, 0, 1, SYS_MKDIR),
    instruction(0x06, 0, 0, 0x00050000 | EPERM), // SECCOMP_RET_ERRNO
    instruction(0x06, 0, 0, 0x7fff0000), // SECCOMP_RET_ALLOW
  ]);
}

const config: TlvItem[] = [
  [1, filterMkdir()],
  [2, KEEP],
  [3, 3],
  [4, 'viv-box'],
  [5, 'net.ipv4.ip_unprivileged_port_start=77'],
  [6, 'DEFAULT=yes'],
  [7, Buffer.concat([u32(7), u64(500), u64(500)])],
];

const root = process.getuid?.() === 0;
let guest: Guest;
let link: Link;

before(async () => {
  if (!root) return;
  guest = new Guest({ pid1: true });
  link = await guest.open({ config });
});
after(async () => {
  if (root) await guest.close();
});

async function text(script: string): Promise<string> {
  const run = await link.sh(script);
  return String(run.out) + String(run.err);
}

test('CONFIG gives hostname, settings, limits and environment', { skip: !root }, async () => {
  const script = 'hostname; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; ulimit -n; echo $DEFAULT';
  assert.equal(await text(script), 'viv-box\n77\n500\nyes\n');
});

test('CONFIG leaves only the capabilities it names, in every set, also for pid 1', { skip: !root }, async () => {
  const expected = KEEP.toString(16).padStart(16, '0');
  const sets = await text('grep -h Cap /proc/self/status');
  const [inh, prm, eff, bnd, amb] = [...sets.matchAll(/Cap\w+:\t(\w+)/g)].map((match) => match[1]);
  assert.deepEqual([prm, eff, bnd], [expected, expected, expected]);
  assert.deepEqual([inh, amb], ['0'.repeat(16), '0'.repeat(16)]);
  const own = await text('grep -hE "Cap(Prm|Eff|Bnd)" /proc/1/status | cut -f2 | sort -u');
  assert.equal(own, `${expected}\n`);
});

test('the filter holds for commands and for file workers', { skip: !root }, async () => {
  assert.match(await text('mkdir /tmp/viv-filtered'), /not permitted/);
  assert.match(await text('grep Seccomp: /proc/self/status'), /2/);
});

test('loopback is up, and connections inside work', { skip: !root }, async () => {
  const listener = link.id();
  link.send(
    T.LISTEN,
    listener,
    tlv([
      [1, 1],
      [3, 0],
    ]),
  );
  const port =
    parseTlv((await link.take(listener, T.OK)).payload)
      .get(1)
      ?.readUInt32LE(0) ?? 0;
  const id = link.id();
  link.send(
    T.CONNECT,
    id,
    tlv([
      [1, 1],
      [3, port],
    ]),
  );
  await link.take(id, T.OK);
  link.send(T.CANCEL, id);
  link.send(T.RELEASE, listener);
});

test('root inside can neither look into pid 1 nor end it', { skip: !root }, async () => {
  const script = `
    cat /proc/1/fd/3; cat /proc/1/environ; cat /proc/1/maps
    for s in KILL TERM INT HUP STOP SEGV; do kill -$s 1; done; echo alive`;
  const said = await text(script);
  assert.equal(said.match(/ermission denied|not permitted/g)?.length, 3, said);
  assert.match(said, /^alive$/m);
  await link.ping();
});

test('files, processes and terminals work under the confinement', { skip: !root }, async () => {
  assert.equal((await stat(link, '/')).type, 2);
  assert.equal(await refusal(link, OP.stat, '/nonesuch'), 2);
  const { id } = await link.spawn(['tty'], [[5, 1]]);
  assert.equal(String(await link.collect(id, 1)), '/dev/pts/0\r\n');
  await link.exit(id);
  link.send(T.RELEASE, id);
  assert.equal(await text('id -u'), '0\n');
});

test('the clock and the entropy pool need rights that a container does not have', { skip: !root }, async () => {
  link.send(T.CLOCK, 901, u64(1_000_000_000n));
  const clock = await link.takeFail(901);
  assert.deepEqual([clock.errno, clock.stage], [EPERM, 10]);
  link.send(T.RESEED, 903, Buffer.alloc(64, 1));
  assert.equal((await link.takeFail(903)).errno, EPERM);
});

test('KILLTREE finds what left its session, in a pid namespace too', { skip: !root }, async () => {
  const { id } = await link.spawn(['sh', '-c', 'setsid sh -c "sleep 77 & sleep 77" & sleep 77']);
  await link.take(id, T.OK);
  const count = async (): Promise<number> =>
    Number(await text('grep -lz "^77$" /proc/[0-9]*/cmdline 2>/dev/null | wc -l'));
  while ((await count()) < 3);
  link.send(T.KILLTREE, id);
  await link.exit(id);
  while ((await count()) > 0);
  link.send(T.RELEASE, id);
});

test('SHUTDOWN asks everything to end, kills the rest, and pid 1 leaves with 0', { skip: !root }, async () => {
  const own = new Guest({ pid1: true });
  try {
    const last = await own.open();
    const stubborn = await last.spawn(['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done']);
    const polite = await last.spawn(['sh', '-c', 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done']);
    for (const { id } of [stubborn, polite]) await last.take(id, T.DATA);
    last.send(T.SHUTDOWN, 0, u32(300));
    assert.deepEqual(await last.exit(polite.id), { kind: 0, code: 9 });
    assert.equal(await own.ended(), 0);
  } finally {
    await own.close();
  }
});

test('an ordinary viv-init shuts down with its own commands only', async () => {
  const own = new Guest();
  const other = new Guest();
  try {
    const [last, unconcerned] = [await own.open(), await other.open()];
    const { pid } = await last.spawn(['sleep', '60']);
    const kept = await unconcerned.spawn(['sleep', '60']);
    await last.ping();
    last.send(T.SHUTDOWN, 0, u32(5000));
    assert.equal(await own.ended(), 0);
    await until(() => !alive(pid), 'its command is gone');
    assert.ok(alive(kept.pid));
  } finally {
    await own.close();
    await other.close();
  }
});
