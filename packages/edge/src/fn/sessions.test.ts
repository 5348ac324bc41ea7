import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FakeClock, seededRandom } from '@vivarium/core';
import { Limits } from '@vivarium/protocol';
import pino from 'pino';
import { FakeDriver } from '../fakes/fake-driver.ts';
import { FakeImages } from '../fakes/fake-images.ts';
import { type OpenEdge, openEdge } from '../open-edge.ts';

const owner = { keyId: 'k', maxSandboxes: null };
const driver = new FakeDriver();
const drivers = [driver, new FakeDriver('fn')];
let stateDir: string;
let edge: OpenEdge;

const open = async (seed: number) => {
  edge = await openEdge({
    stateDir,
    drivers,
    images: new FakeImages(),
    clock: new FakeClock(),
    random: seededRandom(seed),
    log: pino({ level: 'silent' }),
    limits: { minFreeDiskBytes: 0, minFreeMemoryBytes: 0 },
    openCell: driver.openCell,
    fnLimits: { sessionsPerKey: 2 },
  });
};
before(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'viv-sessions-'));
  await open(1);
});
after(async () => {
  await edge.close();
  rmSync(stateDir, { recursive: true, force: true });
});

const use = async (name: string) => {
  const call = {
    image: 'base/test@1',
    limits: Limits.parse({}),
    files: [],
    run: { argv: ['true'], timeoutMs: 1000 },
    env: {},
    cwd: '/',
    filesOut: [],
    filesOutBytesMax: 0,
    filesOutMax: 0,
    keepBytes: 0,
    session: { name, idleTimeoutS: 60 },
  };
  return (await edge.fn.run(call, owner)).sandbox;
};

test('a session from before a restart does not count once it has ended', async () => {
  const first = await use('a');
  await use('b');
  await assert.rejects(use('c'), { code: 'quota_exceeded' });
  await edge.close();
  await open(2);
  assert.equal(await use('a'), first);
  await assert.rejects(use('c'), { code: 'quota_exceeded' });
  await edge.sandboxes.kill(first);
  await use('c');
  await assert.rejects(use('d'), { code: 'quota_exceeded' });
});
