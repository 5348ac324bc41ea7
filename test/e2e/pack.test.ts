import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import type { PackReport, Sandbox } from '@vivarium/sdk';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';

let node: TestNode;
before(async () => {
  node = await startTestNode();
});
after(() => node.purge());

const create = (image = IMAGE) => node.viv.sandboxes.create({ image, ttlS: 600 });
const fails = (code: string) => (error: unknown) => error instanceof VivError && error.code === code;

/** Work as an agent does it: edits, a build, a new user’s files, links, a capability, deletions. */
async function work(sandbox: Sandbox, salt: string): Promise<void> {
  const script = `set -e
    mkdir -p /app/src && cd /app && printf 'int main(void){return 7;}' > src/main.c
    gcc -g0 -o prog src/main.c && ./prog || test $? = 7
    useradd -m worker && chage -d 20000 worker && su worker -c 'echo mine > ~/file'
    ln prog hard && ln -s prog soft && chmod 4755 hard
    rm -rf /opt /usr/share/doc/git && mkdir /opt && echo ${salt} > /tmp/noise && echo ${salt} > /var/log/noise.log
    python3 -c 'import json' && touch /etc/hosts.deny /etc/debian_version
    printf x > "/app/new
line"`;
  (await sandbox.exec(script, { timeoutMs: 60_000 })).check();
}

test('two sandboxes, other ids and times: the same work gives the same layer, and an image in which it works', async () => {
  const reports: PackReport[] = [];
  for (const salt of ['one', 'another']) {
    await using sandbox = await create();
    await work(sandbox, salt);
    reports.push(await sandbox.pack({ image: `packed/${salt}@1`, keep: ['/etc/debian_version'] }));
    await sandbox.exec('true');
  }
  const [one, other] = reports as [PackReport, PackReport];
  assert.equal(one.layer?.digest, other.layer?.digest);
  assert.equal(one.image.lineage?.kind, 'pack');
  assert.equal(one.image.lineage?.parent?.name, IMAGE);
  assert.ok(one.removed.some(({ rule, paths }) => rule === 'temporary' && paths.includes('/tmp/noise')));
  await using again = await create('packed/one@1');
  const check =
    'cd /app && ./hard; echo $?; stat -c "%h %U %a" hard; cat ~worker/file; stat -c %U ~worker/file; ls /opt /tmp';
  assert.equal((await again.exec(check)).stdout, '7\n2 root 4755\nmine\nworker\n/opt:\n\n/tmp:\n');
});

test('a paused sandbox and one whose time is up meanwhile are packed; one that has ended is not', async () => {
  await using paused = await create();
  await paused.exec('echo x > /root/x');
  await paused.pause();
  assert.equal((await paused.pack({ image: 'paused@1' })).changed.added, 1);
  assert.equal((await paused.refresh()).state, 'paused');
  const short = await create();
  await short.exec('head -c 400M /dev/zero | tr "\\\\0" x > /root/big', { timeoutMs: 60_000 });
  await short.update({ ttlS: 1 });
  await new Promise((resolve) => setTimeout(resolve, 900));
  assert.equal((await short.pack({ image: 'short@1' })).changed.bytes, 400 * 1024 ** 2);
  assert.equal((await short.wait()).info.endReason, 'ttl');
  await assert.rejects(short.pack({ image: 'late@1' }), fails('sandbox_dead'));
});

test('a sandbox goes on while it is packed, and its image holds one moment', async () => {
  await using sandbox = await create();
  const writer = `i=0; while :; do i=$((i+1)); echo $i > /root/a.new; mv /root/a.new /root/a; cp /root/a /root/b; done`;
  await sandbox.start(writer);
  await sandbox.exec('sleep 0.3');
  await sandbox.pack({ image: 'moving@1' });
  const later = (await sandbox.exec('cat /root/a')).stdout;
  await using seen = await create('moving@1');
  const [a, b] = (await seen.exec('cat /root/a; tail -n1 /root/b')).stdout.trim().split('\n').map(Number);
  assert.ok(a === b || a === b! + 1 || b === undefined, `${a} and ${b}`);
  assert.ok(Number(later) >= a!);
});

test('split makes the image without what must not count, of the same moment', async () => {
  await using sandbox = await create();
  await sandbox.exec('mkdir -p /logs/verifier /tests && echo 1 > /logs/verifier/reward.txt && echo x > /root/answer');
  const report = await sandbox.pack({
    image: 'all@1',
    scrub: 'none',
    times: 'kept',
    split: { image: 'clean@1', protect: ['/logs', '/tests'] },
  });
  assert.deepEqual(
    report.split?.leftOut.map(({ path, change }) => `${change} ${path}`),
    ['added /logs', 'added /logs/verifier', 'added /logs/verifier/reward.txt', 'added /tests'],
  );
  await using all = await create('all@1');
  await using clean = await create('clean@1');
  assert.equal((await all.exec('cat /logs/verifier/reward.txt')).stdout, '1\n');
  assert.equal((await clean.exec('cat /root/answer; ls -d /logs /tests')).stdout, 'x\n');
});

test('the server may be killed in the middle: nothing is left of the pack, and it can be done again', async () => {
  await using sandbox = await create();
  await sandbox.exec('head -c 200M /dev/urandom > /root/big', { timeoutMs: 60_000 });
  const packing = sandbox.pack({ image: 'killed@1' }).catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 150));
  await node.kill9();
  await node.start();
  await packing;
  assert.deepEqual(readdirSync(join(node.paths.stateDir, 'tmp')), []);
  assert.equal((await sandbox.pack({ image: 'killed@1' })).changed.bytes, 200 * 1024 ** 2);
});

test('a tree that an agent made to break the pack is the agent’s fault', async () => {
  await using sandbox = await create();
  await sandbox.exec([
    'python3',
    '-c',
    'import os\nos.chdir("/root")\nfor i in range(1500): os.mkdir("d"); os.chdir("d")',
  ]);
  await assert.rejects(sandbox.pack({ image: 'deep@1' }), (error) => {
    assert.ok(error instanceof VivError);
    assert.deepEqual([error.code, error.fault], ['invalid_image', 'agent']);
    return true;
  });
});

test('viv pack prints what it left out and why; viv commit is the same verb', async () => {
  await using sandbox = await create();
  await sandbox.exec('echo ls > /root/.bash_history; echo y > /root/.cache; echo z > /root/z; echo A=1 > /root/.env');
  const packed = runViv(node, ['pack', sandbox.id, 'cli/packed@1', '--keep', '/root/.cache']);
  assert.match(packed.stdout, /^cli\/packed@1 {2}\S+ \S+ layer: 3 added, 0 changed, 0 deleted$/m);
  assert.match(packed.stdout, /removed.*history: 1 entries, 3 B \(what somebody typed\): \/root\/\.bash_history/);
  assert.match(packed.stdout, /look at.*\/root\/\.env/);
  const json = runViv(node, ['commit', sandbox.id, 'cli/all@1', '--no-scrub', '--exclude', '*.env', '--json']);
  const report = JSON.parse(json.stdout) as PackReport;
  assert.deepEqual([report.removed.length, report.excluded[0]?.paths], [0, ['/root/.env']]);
});
