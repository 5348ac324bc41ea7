import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
before(async () => {
  fake = await FakeEdge.open();
});
after(() => fake.close());

const IMAGE = 'base/test@1';
const GRADER = { digest: `sha256:${'2'.repeat(64)}`, path: '/grader' };
const request = (at: string) => ({ image: IMAGE, from: '/', at });

test('a sweep ends commands as canceled, all but those with a label that is kept', async () => {
  const { id } = await fake.create();
  const service = await fake.start(id, ['wait'], {}, { label: 'service' });
  const agent = await fake.start(id, ['wait'], {}, { label: 'agent' });
  await fake.edge.sandboxes.sweep(id, ['service']);
  assert.equal((await agent.done).outcome?.type, 'canceled');
  assert.equal((await fake.edge.execs.get(id, service.exec.id)).state, 'running');
  await fake.edge.sandboxes.sweep(id, []);
  assert.equal((await service.done).outcome?.type, 'canceled');
  assert.equal(fake.edge.sandboxes.get(id).state, 'running');
  await fake.edge.sandboxes.pause(id);
  await assert.rejects(fake.edge.sandboxes.sweep(id, []), { code: 'sandbox_paused' });
  await fake.edge.sandboxes.kill(id);
});

test('a mounted image is held until the sandbox ends, also across a restart', async () => {
  const { id } = await fake.create();
  const { held, layers } = fake.images;
  fake.images.layers = [GRADER];
  await fake.edge.sandboxes.mount(id, request('/a'));
  assert.deepEqual(fake.driver.cells.get(id)!.attached, ['/a']);
  assert.equal(fake.images.held, held + 1);
  await assert.rejects(fake.edge.sandboxes.mount(id, request('/a')), { code: 'path_exists' });
  await fake.edge.sandboxes.unmount(id, '/a');
  await fake.edge.sandboxes.mount(id, request('/a'));
  assert.equal(fake.images.held, held + 1, 'once, however often it is mounted');
  fake.images.layers = layers;
  await fake.restart();
  assert.ok(fake.edge.usesLayer(GRADER.digest));
  await assert.rejects(fake.edge.images.remove(IMAGE), { code: 'image_in_use' });
  await assert.rejects(fake.edge.sandboxes.mount(id, request('/a')), { code: 'path_exists' });
  await fake.edge.sandboxes.unmount(id, '/a');
  await fake.edge.sandboxes.unmount(id, '/a');
  assert.deepEqual(fake.driver.cells.get(id)!.attached, []);
  await fake.edge.sandboxes.kill(id);
});

test('a mount that fails is not remembered and holds nothing; there are at most sixteen', async () => {
  const { id } = await fake.create();
  const handle = fake.driver.cells.get(id)!;
  const { held, layers } = fake.images;
  fake.images.layers = [GRADER];
  handle.attachLayer = async () => {
    throw new Error('no');
  };
  await assert.rejects(fake.edge.sandboxes.mount(id, request('/a')), /no/);
  assert.equal(fake.images.held, held);
  assert.ok(!fake.edge.usesLayer(GRADER.digest));
  fake.images.layers = layers;
  handle.attachLayer = async () => {};
  for (let i = 0; i < 16; i++) await fake.edge.sandboxes.mount(id, request(`/a${i}`));
  await assert.rejects(fake.edge.sandboxes.mount(id, request('/a')), { code: 'quota_exceeded' });
  await fake.edge.sandboxes.kill(id);
});
