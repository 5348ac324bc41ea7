import assert from 'node:assert/strict';
import { test } from 'node:test';
import { served } from '../testing/served.ts';

const IMAGE = 'base/debian@12';

test('lists are filtered by metadata with any characters, by image and start, and go both ways', async () => {
  await using api = await served();
  const odd = { 'a=b & c': 'x=y&z é%' };
  const one = await api.call('POST', '/v1/sandboxes', { image: IMAGE, metadata: { ...odd, run: '1' } });
  const two = await api.call('POST', '/v1/sandboxes', { image: IMAGE, metadata: { run: '1' } });
  assert.deepEqual(one.json.metadata, { ...odd, run: '1' });
  const list = async (query: string) => {
    const { json } = await api.call('GET', `/v1/sandboxes?${query}`);
    return json.items?.map(({ id }: { id: string }) => id) ?? json.error.code;
  };
  const metadata = (pairs: Record<string, string>) => `metadata=${encodeURIComponent(`${new URLSearchParams(pairs)}`)}`;
  assert.deepEqual(await list(metadata({ run: '1' })), [one.json.id, two.json.id]);
  assert.deepEqual(await list(metadata(odd)), [one.json.id]);
  assert.deepEqual(await list(metadata({ run: '1', 'a=b & c': '' })), []);
  assert.deepEqual(await list(`image=${encodeURIComponent(IMAGE)}&image=other%401&order=asc`), [
    one.json.id,
    two.json.id,
  ]);
  assert.deepEqual(await list('image=other%401'), []);
  assert.deepEqual(await list('startedAfter=2031-01-01T00:00:00Z'), []);
  assert.equal(await list('metadata=a%3D1%26a%3D2'), 'invalid_argument');
  assert.equal(await list('order=up'), 'invalid_argument');
  assert.equal(await list('startedAfter=yesterday'), 'invalid_argument');
});

test('metadata has its limits, and an error names it', async () => {
  await using api = await served();
  const refused = async (metadata: unknown) =>
    (await api.call('POST', '/v1/sandboxes', { image: IMAGE, metadata })).json.error?.message ?? 'taken';
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
  assert.match(await refused(many(65)), /metadata/);
  assert.match(await refused({ k: 'v'.repeat(4097) }), /metadata/);
  assert.match(await refused({ ['k'.repeat(257)]: 'v' }), /metadata/);
  assert.match(await refused({ k: 1 }), /metadata/);
  assert.equal(await refused({ ...many(63), [` ${'k'.repeat(255)}`]: 'v'.repeat(4096) }), 'taken');
});

test('pause takes what is to stay, and nothing at all; metadata is changed; forks have a time of their own', async () => {
  await using api = await served();
  const { id } = await api.create();
  const at = `/v1/sandboxes/${id}`;
  assert.deepEqual((await api.call('POST', `${at}/pause`)).json.cold, false);
  assert.deepEqual((await api.call('POST', `${at}/pause`, { memory: false })).json.cold, true);
  assert.deepEqual((await api.call('POST', `${at}/pause`, { memory: 'no' })).json.error.code, 'invalid_argument');
  assert.deepEqual((await api.call('POST', `${at}/pause`, { disk: false })).json.error.code, 'unknown_field');
  assert.deepEqual((await api.call('POST', `${at}/resume`)).json.cold, false);
  assert.deepEqual((await api.call('PATCH', at, { metadata: { a: '1' } })).json.metadata, { a: '1' });
  const { items } = (await api.call('POST', `${at}/fork`, { count: 2, ttlS: 60, metadata: { b: '2' } })).json;
  assert.deepEqual(
    items.map(({ metadata }: { metadata: unknown }) => metadata),
    [{ b: '2' }, { b: '2' }],
  );
  assert.equal((await api.call('POST', `${at}/fork`, { count: 101 })).json.error.code, 'limit_too_high');
  assert.equal((await api.call('POST', `${at}/fork`, { ttlS: 0 })).json.error.code, 'invalid_argument');
});

test('the history of use is asked for between two times', async () => {
  await using api = await served();
  const { id } = await api.create();
  const asked: number[][] = [];
  const { statsHistory } = api.edge.sandboxes;
  api.edge.sandboxes.statsHistory = (of: string, ...range: number[]) => {
    asked.push(range);
    return statsHistory.call(api.edge.sandboxes, of);
  };
  const at = `/v1/sandboxes/${id}/stats/history`;
  assert.equal((await api.call('GET', at)).json.items[0].pidsLimit, 512);
  await api.call('GET', `${at}?from=2026-01-01T00:00:00Z&to=2026-01-01T00:01:00Z`);
  assert.deepEqual(asked, [
    [0, Number.MAX_SAFE_INTEGER],
    [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1, 0, 1)],
  ]);
  assert.equal((await api.call('GET', `${at}?from=now`)).json.error.code, 'invalid_argument');
});
