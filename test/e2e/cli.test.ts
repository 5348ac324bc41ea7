import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';

let node: TestNode;
let id: string;

before(async () => {
  node = await startTestNode();
  id = viv('create', IMAGE).stdout.trim();
  assert.match(id, /^[a-z0-9]{20}$/);
});
after(() => node.purge());

const viv = (...args: string[]) => runViv(node, args);

test('run gives the command’s output and exit code and leaves no sandbox', () => {
  const result = viv('run', IMAGE, '--', 'sh', '-c', 'echo out; echo err >&2; exit 42');
  assert.equal(result.code, 42);
  assert.equal(result.stdout, 'out\n');
  assert.match(result.stderr, /^err$/m);
  const left = JSON.parse(viv('ls', '--json').stdout) as { id: string }[];
  assert.deepEqual(
    left.map((sandbox) => sandbox.id),
    [id],
  );
});

test('exec passes stdin on', () => {
  const result = runViv(node, ['exec', '-i', id, '--', 'sort'], 'b\na\n');
  assert.equal(result.stdout, 'a\nb\n');
});

test('an id may be abbreviated; one that does not exist is exit code 3 with a hint', () => {
  assert.equal(viv('exec', id.slice(0, 12), '--', 'echo', 'short').stdout, 'short\n');
  const missing = viv('inspect', '0'.repeat(20));
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /^viv: .*\nhint: /m);
});

test('cp takes directories in and out, odd names too', () => {
  const base = mkdtempSync(join(tmpdir(), 'viv-cp-'));
  const source = join(base, 'tree');
  mkdirSync(join(source, 'sub dir'), { recursive: true });
  writeFileSync(join(source, 'sub dir', 'new\nline'), 'one');
  writeFileSync(join(source, 'ünicode'), 'two');
  assert.equal(viv('cp', source, `${id}:/tmp/tree`).code, 0);
  assert.equal(viv('exec', id, '--', 'cat', '/tmp/tree/ünicode').stdout, 'two');
  assert.equal(viv('cp', `${id}:/tmp/tree`, join(base, 'back')).code, 0);
  assert.equal(readFileSync(join(base, 'back', 'sub dir', 'new\nline'), 'utf8'), 'one');
});

test('logs tell what was done, and their chain is verified', () => {
  const result = viv('logs', id, '--verify');
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stdout, /sort/);
});

test('image ls and stats are for people, with --json for programs', () => {
  assert.match(viv('image', 'ls').stdout, /base\/debian@12/);
  const images = JSON.parse(viv('image', 'ls', '--json').stdout) as { name: string }[];
  assert.ok(images.some((image) => image.name === IMAGE));
  assert.match(viv('stats', id).stdout, new RegExp(id));
});

test('an image comes from a directory', () => {
  const tree = mkdtempSync(join(tmpdir(), 'viv-image-'));
  mkdirSync(join(tree, 'etc'));
  writeFileSync(join(tree, 'etc/hostname'), 'mine\n');
  assert.equal(viv('image', 'import', 'my/dir@1', '--dir', tree).code, 0);
  const made = viv('create', 'my/dir@1').stdout.trim();
  assert.equal(viv('cp', `${made}:/etc/hostname`, '-').code, 0);
  assert.equal(viv('kill', made).code, 0);
  assert.equal(viv('image', 'rm', 'my/dir@1').code, 0);
});

test('pause, resume, fork and changes work from the command line', () => {
  viv('exec', id, '--', 'touch', '/root/made');
  assert.match(viv('changes', id).stdout, /\/root\/made/);
  assert.equal(viv('pause', id).code, 0);
  assert.match(viv('ls').stdout, /paused/);
  assert.equal(viv('resume', id).code, 0);
  const [fork] = viv('fork', id).stdout.trim().split('\n');
  assert.equal(viv('exec', fork!, '--', 'test', '-e', '/root/made').code, 0);
  assert.equal(viv('kill', fork!).code, 0);
});

test('kill ends a sandbox and wait tells', () => {
  assert.equal(viv('kill', id).code, 0);
  assert.equal(viv('wait', id, '--state', 'ended').code, 0);
  assert.equal(viv('exec', id, '--', 'true').code, 125);
});
