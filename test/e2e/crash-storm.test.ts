import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom, verifyChain } from '@vivarium/core';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';

/** Kill -9 of the server at random moments of everything that changes something, in a loop; clients retry with their idempotency keys. */
let node: TestNode;
before(async () => {
  node = await startTestNode();
});
after(() => node.purge());

const SEED = Number(process.env.VIV_SEED ?? Date.now() % 1_000_000);
const ROUNDS = Number(process.env.VIV_ROUNDS ?? 6);
const WORKERS = 6;

type Answer = { status: number; body: Record<string, unknown> & { error?: { code: string; message: string } } };

/** Asks until a server answers; what a server says while it stops is no answer. */
async function ask(method: string, path: string, body?: unknown, key?: string): Promise<Answer> {
  for (;;) {
    try {
      const headers: Record<string, string> = {
        authorization: `Bearer ${node.key}`,
        'content-type': 'application/json',
      };
      if (key) headers['idempotency-key'] = key;
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(node.url + path, { method, headers, ...sent, signal: AbortSignal.timeout(30_000) });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    } catch {
      await delay(20);
    }
  }
}

test(`nothing is lost, nothing runs twice and nothing is left, seed ${SEED}`, async () => {
  const random = seededRandom(SEED);
  const below = (n: number) => Buffer.from(random.bytes(4)).readUInt32LE() % n;
  let over = false;
  const problems: string[] = [];
  /** Per sandbox, how many commands were answered as run. */
  const ran = new Map<string, number>();
  const killed = new Set<string>();
  let keys = 0;

  const exec = async (id: string) => {
    const key = `exec-${keys++}`;
    const start = { command: 'echo x >> /root/log; head -c 20000 /dev/zero | tr "\\0" y; exit 3' };
    const { status, body } = await ask('POST', `/v1/sandboxes/${id}/execs`, start, key);
    if (status !== 200) return void problems.push(`exec ${key}: ${status} ${JSON.stringify(body.error)}`);
    const { outcome, stdoutB64, message } = body as unknown as {
      outcome: { type: string; code?: number };
      stdoutB64: string;
      message: string;
    };
    if (outcome.type === 'sandbox_lost' && /did not run/.test(message)) return;
    if (outcome.code !== 3) problems.push(`exec ${key} ended as ${JSON.stringify(outcome)} ${message}`);
    const out = Buffer.from(stdoutB64, 'base64');
    if (out.length !== 20_000) problems.push(`exec ${key} has ${out.length} bytes of output`);
    ran.set(id, (ran.get(id) ?? 0) + 1);
  };
  const create = async (label: string) => {
    const key = `create-${keys++}`;
    const { status, body } = await ask(
      'POST',
      '/v1/sandboxes',
      { image: IMAGE, labels: { key, label }, ttlS: 900 },
      key,
    );
    if (status === 200) return body.id as string;
    problems.push(`create ${key}: ${status} ${JSON.stringify(body.error)}`);
    return undefined;
  };
  const worker = async (n: number) => {
    while (!over) {
      const id = await create('worker');
      if (!id) continue;
      for (let i = 0; i < 4 && !over; i++) {
        await exec(id);
        const what = below(4);
        if (what === 0) {
          for (const step of ['pause', 'resume']) {
            const { status, body } = await ask('POST', `/v1/sandboxes/${id}/${step}`);
            if (status !== 200) problems.push(`${step}: ${status} ${JSON.stringify(body.error)}`);
          }
        } else if (what === 1) {
          const key = `fork-${keys++}`;
          const { status, body } = await ask(
            'POST',
            `/v1/sandboxes/${id}/fork`,
            { count: 2, labels: { fork: key } },
            key,
          );
          if (status !== 200) problems.push(`fork: ${status} ${JSON.stringify(body.error)}`);
          for (const fork of (body.items ?? []) as { id: string }[]) {
            killed.add(fork.id);
            await ask('DELETE', `/v1/sandboxes/${fork.id}`);
          }
        } else if (what === 2 && i === 0) {
          const { status, body } = await ask('POST', `/v1/sandboxes/${id}/snapshot`, { image: `snap/w${n}@${keys++}` });
          if (status !== 200 && body.error?.code !== 'image_exists')
            problems.push(`snapshot: ${status} ${JSON.stringify(body.error)}`);
        }
      }
      if (below(2) === 0) {
        killed.add(id);
        await ask('DELETE', `/v1/sandboxes/${id}`);
      }
    }
  };

  const workers = Array.from({ length: WORKERS }, (_, n) => worker(n));
  for (let round = 0; round < ROUNDS; round++) {
    await delay(100 + below(900));
    await node.kill9();
    await node.start();
  }
  over = true;
  await Promise.all(workers);
  assert.deepEqual(problems, []);

  const list = async (query: string) =>
    (await ask('GET', `/v1/sandboxes?limit=1000&${query}`)).body.items as {
      id: string;
      labels: Record<string, string>;
    }[];
  const live = await list('state=running,paused,pausing,resuming,creating,ending');
  for (const { id } of live) assert.equal(killed.has(id), false, `${id} was killed and lives`);
  const made = new Map<string, number>();
  for (const { labels } of live) {
    const name = labels.key ?? labels.fork!;
    made.set(name, (made.get(name) ?? 0) + 1);
  }
  for (const [name, count] of made) assert.equal(count, 1, `${count} live sandboxes were made for ${name}`);
  for (const [id, count] of ran) {
    if (killed.has(id)) continue;
    const { body } = await ask('POST', `/v1/sandboxes/${id}/execs`, { command: 'cat /root/log | wc -l' });
    assert.equal(
      Buffer.from(body.stdoutB64 as string, 'base64')
        .toString()
        .trim(),
      String(count),
      `commands in ${id}`,
    );
    verifyChain((await ask('GET', `/v1/sandboxes/${id}/logs?limit=10000`)).body.items as never);
  }
  const sockets = readdirSync(join(node.paths.runDir, 's')).sort();
  assert.deepEqual(sockets, live.map(({ id }) => `${id}.sock`).sort());
});
