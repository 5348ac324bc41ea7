/**
 * The main things one does with a sandbox. Needs a running node (`viv up --detach`); the base image is made at first use.
 * Run: node examples/ts/quickstart.ts
 */
import assert from 'node:assert/strict';
import { Vivarium } from '@vivarium/sdk';
import { localConnection } from '@vivarium/sdk/node';

const viv = new Vivarium(localConnection());
const image = process.env.VIV_IMAGE ?? 'base/debian@12';

// Sandboxes of a lease end when this process is gone, however it ends.
await using lease = await viv.lease('quickstart', { graceS: 30 });
const sandbox = await lease.create({ image, labels: { example: 'quickstart' }, limits: { memoryMiB: 512 } });
console.log('created ', sandbox.id);

// Files in, a command, its result.
await sandbox.files.write('/work/add.py', 'import sys\nprint(sum(map(int, sys.stdin.read().split())))\n');
const sum = await sandbox.exec(['python3', 'add.py'], {
  cwd: '/work',
  stdin: '1 2 3',
  timeoutMs: 10_000,
  throwOnError: true,
});
assert.equal(sum.stdout, '6\n');
console.log('summed  ', sum.stdout.trim(), `in ${sum.durationMs} ms`);

// How it ended is typed, never guessed from text.
const slow = await sandbox.exec('echo started; sleep 60', { timeoutMs: 300 });
assert.deepEqual([slow.outcome.type, slow.exitCode, slow.stdout], ['timeout', 124, 'started\n']);
console.log('timed out with its output kept:', slow.stdout.trim());

// A stream: output arrives while the command runs.
const counting = await sandbox.spawn('for i in 1 2 3; do echo $i; sleep 0.1; done');
for await (const line of counting.stdout.lines()) console.log('line    ', line);
assert.equal((await counting.wait()).exitCode, 0);

// A terminal.
const terminal = await sandbox.spawn(['sh'], { pty: { rows: 24, cols: 80 } });
await terminal.write('stty size; exit\n');
assert.match(await terminal.stdout.text(), /24 80/);

// A server inside, reached from here although the sandbox has no network.
await sandbox.start('cd /work && exec python3 -m http.server 8000');
await sandbox.exec(
  'until python3 -c "import socket; socket.create_connection((\'127.0.0.1\', 8000))" 2>/dev/null; do sleep 0.05; done',
  { timeoutMs: 10_000 },
);
const response = await sandbox.ports.fetch(8000, '/add.py');
assert.equal(response.status, 200);
assert.match(await response.text(), /^import sys/);
console.log('fetched ', response.headers.get('content-type'));

// What it changed, and everything that was done, in order.
for await (const change of sandbox.changes())
  if (change.type === 'file') console.log('changed ', change.change, change.path);
let records = 0;
for await (const _ of sandbox.logs()) records++;
console.log('journal ', records, 'records');

// Others see it come and go.
await sandbox.kill();
assert.equal(sandbox.state, 'ended');
console.log('done');
viv.close();
