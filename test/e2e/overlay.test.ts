import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { collect } from '@vivarium/sdk';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';
import { tarOf } from '../harness/tar.ts';

let node: TestNode;
before(async () => {
  node = await startTestNode();
  const layer = tarOf({ 'tests/': '', 'tests/test.sh': 'echo one\n', 'etc/overlaid': 'one\n' });
  await node.viv.images.importTar('grader/one@1', layer);
  await node.viv.images.importTar('grader/opaque@1', tarOf({ 'opt/': '', 'opt/only': 'x\n', 'etc/': '' }), {
    opaque: ['/opt'],
  });
  await node.viv.images.importTar('grader/two@1', tarOf({ 'etc/overlaid': 'two\n', 'opt/below': 'x\n' }));
});
after(() => node.purge());

test('images laid over another show their files in order, the last on top', async () => {
  const overlay = ['grader/one@1', 'grader/two@1'];
  await using sandbox = await node.viv.sandboxes.create({ image: IMAGE, overlay });
  assert.deepEqual(sandbox.info.overlay, overlay);
  const { stdout } = await sandbox.exec('cat /etc/overlaid /tests/test.sh; python3 -c "print(1)"');
  assert.equal(stdout, 'two\necho one\n1\n');
  const turned = await node.viv.sandboxes.create({ image: IMAGE, overlay: [...overlay].reverse() });
  assert.equal((await turned.exec('cat /etc/overlaid')).stdout, 'one\n');
  await turned.kill();
});

test('what lies over an image is no change of the sandbox', async () => {
  await using sandbox = await node.viv.sandboxes.create({ image: IMAGE, overlay: ['grader/one@1'] });
  const changes = await collect(sandbox.changes());
  assert.deepEqual(changes, []);
});

test('an opaque directory hides what is below, other directories are merged', async () => {
  await using sandbox = await node.viv.sandboxes.create({ image: IMAGE, overlay: ['grader/two@1', 'grader/opaque@1'] });
  const { stdout } = await sandbox.exec('ls /opt; ls /etc/passwd');
  assert.equal(stdout, 'only\n/etc/passwd\n');
});

test('a layer that comes twice is mounted once', async () => {
  await using sandbox = await node.viv.sandboxes.create({ image: IMAGE, overlay: ['grader/one@1', IMAGE] });
  assert.equal((await sandbox.exec('cat /etc/overlaid')).stdout, 'one\n');
});

test('an opaque directory that the tar has not is named', async () => {
  const making = node.viv.images.importTar('grader/none@1', tarOf({ a: 'x' }), { opaque: ['/tests'] });
  await assert.rejects(making, { code: 'invalid_argument', message: /\/tests/ });
});

test('an image that lies over a sandbox is in use, and unknown ones are named', async () => {
  const sandbox = await node.viv.sandboxes.create({ image: IMAGE, overlay: ['grader/one@1'] });
  await assert.rejects(node.viv.images.remove('grader/one@1'), { code: 'image_in_use' });
  await node.kill9();
  await node.start();
  await assert.rejects(node.viv.images.remove('grader/one@1'), { code: 'image_in_use' });
  const [fork] = await sandbox.fork();
  assert.equal((await fork!.exec('cat /etc/overlaid')).stdout, 'one\n');
  await Promise.all([sandbox.kill(), fork!.kill()]);
  await assert.rejects(node.viv.sandboxes.create({ image: IMAGE, overlay: ['no/such@1'] }), {
    code: 'image_not_found',
    message: /no\/such@1/,
  });
  await node.viv.images.remove('grader/one@1');
});
