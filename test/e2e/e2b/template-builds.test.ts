import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Template } from 'e2b';
import { TemplateBed } from '../../harness/e2b-templates.ts';
import { tarOf } from '../../harness/tar.ts';

let bed: TemplateBed;
before(async () => {
  bed = await TemplateBed.open();
});
after(() => bed.close());

test('a build in the background is building, then ready, and its log comes in pieces', async () => {
  const template = Template()
    .fromBaseImage()
    .skipCache()
    .runCmd('for i in $(seq 250); do echo line $i; done; sleep 0.5');
  const info = await Template.buildInBackground(template, 'background', bed.e2b.connection);
  assert.equal((await Template.getBuildStatus(info, bed.e2b.connection)).status, 'building');
  let status = await Template.getBuildStatus(info, bed.e2b.connection);
  while (status.status === 'building') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    status = await Template.getBuildStatus(info, bed.e2b.connection);
  }
  assert.equal(status.status, 'ready');
  const entries: string[] = [];
  for (;;) {
    const { logEntries } = await Template.getBuildStatus(info, { ...bed.e2b.connection, logsOffset: entries.length });
    if (logEntries.length === 0) break;
    assert.ok(logEntries.length <= 100);
    entries.push(...logEntries.map(({ message }) => message));
  }
  const lines = entries.filter((line) => line.startsWith('[builder 1/1] [stdout]'));
  assert.deepEqual(
    lines,
    Array.from({ length: 250 }, (_, i) => `[builder 1/1] [stdout]: line ${i + 1}`),
  );
});

test('an upload goes through its link once asked for, and nowhere else', async () => {
  const { templateId } = await bed.build(Template().fromBaseImage(), { name: 'uploads' });
  const hash = 'a'.repeat(64);
  const link = await bed.e2b.call('GET', `/templates/${templateId}/files/${hash}`);
  assert.deepEqual([link.status, link.body.present], [201, false]);
  assert.equal((await fetch(link.body.url, { method: 'PUT', body: 'not a tar' })).status, 201);
  assert.equal((await bed.e2b.call('GET', `/templates/${templateId}/files/${hash}`)).body.present, true);
  const wrong = link.body.url.replace(/[^/]+$/, 'x'.repeat(32));
  assert.equal((await fetch(wrong, { method: 'PUT', body: 'x' })).status, 404);
  assert.equal((await bed.e2b.call('GET', `/templates/${templateId}/files/..%2f..%2fetc`)).status, 400);
  const { body } = await bed.e2b.call('POST', '/v3/templates', { name: 'uploads' });
  const path = `/templates/${templateId}/builds/${body.buildID}`;
  const steps = [{ type: 'COPY', args: ['a', '/a'], filesHash: hash }];
  assert.equal((await bed.e2b.call('POST', `/v2${path}`, { fromImage: 'e2bdev/base', steps })).status, 202);
  assert.equal((await bed.e2b.call('POST', `/v2${path}`, { fromImage: 'e2bdev/base', steps })).status, 409);
  for (;;) {
    const { body: status } = await bed.e2b.call('GET', `${path}/status`);
    if (status.status === 'building') continue;
    assert.equal(status.status, 'error', JSON.stringify(status));
    break;
  }
});

test('a build that runs when the server is stopped or dies is an error, and the next one works', async () => {
  const template = Template().fromBaseImage().skipCache().runCmd('sleep 100');
  const info = await Template.buildInBackground(template, 'interrupted', bed.e2b.connection);
  await bed.e2b.node.kill9();
  await bed.e2b.node.start();
  const status = await Template.getBuildStatus(info, bed.e2b.connection);
  assert.equal(status.status, 'error');
  assert.match(status.reason!.message, /server was stopped/);
  const again = await Template.buildInBackground(template, 'interrupted', bed.e2b.connection);
  await bed.e2b.node.stop();
  await bed.e2b.node.start();
  assert.equal((await Template.getBuildStatus(again, bed.e2b.connection)).status, 'error');
  const starting = Template().fromBaseImage().setStartCmd('sleep 1000', 'false');
  const third = await Template.buildInBackground(starting, 'interrupted', bed.e2b.connection);
  while ((await bed.e2b.node.viv.sandboxes.list().next()).done)
    assert.equal((await Template.getBuildStatus(third, bed.e2b.connection)).status, 'building');
  await bed.e2b.node.kill9();
  await bed.e2b.node.start();
  assert.equal((await Template.getBuildStatus(third, bed.e2b.connection)).status, 'error');
  const { name } = await bed.build(Template().fromBaseImage().runCmd('echo fine > f.txt'), { name: 'interrupted' });
  assert.equal(await bed.said(name, 'cat ~/f.txt'), 'fine\n');
  // Nothing of the three is left.
  for await (const { state } of bed.e2b.node.viv.sandboxes.list())
    assert.ok(['ended', 'failed', 'lost'].includes(state), state);
});

test('a hostile archive is the build’s error and leaves nothing outside', async () => {
  const { templateId } = await bed.build(Template().fromBaseImage(), { name: 'hostile' });
  for (const [entry, message] of [
    ['../../../../tmp/viv-escaped', /escape|outside|leave/i],
    ['/tmp/viv-escaped', null],
  ] as const) {
    const hash = Buffer.from(entry).toString('hex').padEnd(64, '0').slice(0, 64);
    const { body: link } = await bed.e2b.call('GET', `/templates/${templateId}/files/${hash}`);
    await fetch(link.url, { method: 'PUT', body: await collected(tarOf({ [entry]: 'x' })) });
    const { body: asked } = await bed.e2b.call('POST', '/v3/templates', { name: 'hostile' });
    const path = `/templates/${templateId}/builds/${asked.buildID}`;
    const steps = [{ type: 'COPY', args: ['.', '/copied'], filesHash: hash }];
    await bed.e2b.call('POST', `/v2${path}`, { fromImage: 'e2bdev/base', steps });
    let status = (await bed.e2b.call('GET', `${path}/status`)).body;
    while (status.status === 'building') status = (await bed.e2b.call('GET', `${path}/status`)).body;
    assert.equal(existsSync('/tmp/viv-escaped'), false);
    if (message) assert.match(status.reason.message, message);
  }
});

test('builds of one key that go on at once are bounded', async () => {
  const template = Template().fromBaseImage().skipCache().runCmd('sleep 5');
  const results = await Promise.allSettled(
    Array.from({ length: 24 }, (_, i) =>
      Template.buildInBackground(template, `many-${i}`, { ...bed.e2b.connection, retry: false } as object),
    ),
  );
  const refused = results.filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 4);
  for (let i = 0; i < 24; i++) await bed.e2b.call('DELETE', `/templates/many-${i}`);
  assert.deepEqual(
    (await bed.e2b.call('GET', '/templates')).body.filter(({ names }: { names: string[] }) =>
      names[0]!.startsWith('many-'),
    ),
    [],
  );
});

async function collected(parts: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}
