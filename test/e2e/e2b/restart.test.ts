import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, Secret, Template, Volume } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let node: E2bNode;
before(async () => {
  node = await startE2bNode();
});
after(() => node.close());

test('clients go on after kill -9 of the server: sandboxes, commands, paused ones, snapshots, volumes, templates, secrets', async () => {
  const network = { denyOut: ['10.0.0.0/8'] };
  const sandbox = await node.create({ metadata: { kept: 'yes' }, network, timeoutMs: 900_000 });
  await sandbox.files.write('file', 'of before');
  const command = await sandbox.commands.run('read line; echo "got $line"; exit 3', {
    background: true,
    stdin: true,
    timeoutMs: 0,
  });
  command.wait().catch(() => {});
  const paused = await node.create({ timeoutMs: 900_000, lifecycle: { onTimeout: 'pause', autoResume: true } });
  await paused.files.write('file', 'of the paused one');
  await paused.pause();
  const asleep = await node.create({ timeoutMs: 900_000 });
  await asleep.files.write('file', 'without memory');
  await asleep.pause({ keepMemory: false });
  const { snapshotId } = await sandbox.createSnapshot({ name: 'survivor' });
  const volume = await Volume.create('survivor');
  await volume.writeFile('/file', 'of the volume');
  const built = await Template.build(Template().fromTemplate('base').runCmd('echo built > /tmp/built'), 'survivor:v1');
  const secret = await Secret.create('survivor', 'x', { metadata: { of: 'before' } });
  const url = await sandbox.downloadUrl('file');

  await node.node.kill9();
  await node.node.start();

  const { templateId, network: after, metadata } = await sandbox.getInfo();
  assert.deepEqual([after?.denyOut, metadata], [network.denyOut, { kept: 'yes' }]);
  assert.equal(templateId, (await Sandbox.getInfo(asleep.sandboxId)).templateId);
  assert.equal(await sandbox.files.read('file'), 'of before');
  assert.equal(await (await fetch(url)).text(), 'of before');
  const again = await sandbox.commands.connect(command.pid);
  await sandbox.commands.sendStdin(command.pid, 'after the crash\n');
  await assert.rejects(again.wait(), { exitCode: 3, stdout: 'got after the crash\n' });
  assert.equal(await paused.files.read('file'), 'of the paused one', 'traffic wakes it');
  await asleep.connect();
  assert.equal(await asleep.files.read('file'), 'without memory');
  const copy = await node.create({ template: snapshotId });
  assert.equal(await copy.files.read('file'), 'of before');
  assert.equal(await volume.readFile('/file'), 'of the volume');
  const fromTemplate = await node.create({ template: 'survivor:v1' });
  assert.equal(await fromTemplate.files.read('/tmp/built'), 'built\n');
  assert.deepEqual(
    (await Template.getTags(built.templateId)).map(({ tag }) => tag),
    ['v1'],
  );
  assert.deepEqual((await Secret.getInfo(secret.secretId)).metadata, { of: 'before' });
});

test('a command that ended while the server was away is told to who connects late', async () => {
  const sandbox = await node.create({ timeoutMs: 900_000 });
  const handle = await sandbox.commands.run('sleep 0.5; echo alone', { background: true, timeoutMs: 0 });
  handle.wait().catch(() => {});
  await node.node.kill9();
  await delay(1000);
  await node.node.start();
  const late = await sandbox.commands.connect(handle.pid);
  assert.equal((await late.wait()).stdout, 'alone\n');
});
