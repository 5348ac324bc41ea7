import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { TemplateFiles, UPLOAD_LIMITS } from './template-files.ts';

const directory = mkdtempSync(join(tmpdir(), 'viv-uploads-'));
after(() => rmSync(directory, { recursive: true, force: true }));

const HASH = 'b'.repeat(64);
const DAY_MS = 86_400_000;
let now = Date.now();
const files = new TemplateFiles(directory, () => now);
const body = async function* (...parts: string[]) {
  for (const part of parts) yield Buffer.from(part);
};

async function read(owner: string): Promise<string> {
  const { files: opened, release } = files.hold(owner, [HASH]);
  const parts: Uint8Array[] = [];
  for await (const chunk of opened.get(HASH)!()) parts.push(chunk);
  release();
  return Buffer.concat(parts).toString();
}

test('an archive is there for the key that sent it, and for no other', async () => {
  assert.equal(files.has('one', HASH), false);
  await files.receive(files.link('one', HASH), body('a', 'b'));
  assert.equal(files.has('one', HASH), true);
  assert.equal(files.has('two', HASH), false);
  assert.equal(await read('one'), 'ab');
  assert.throws(() => files.hold('two', [HASH]), { code: 'build_failed' });
});

test('another upload takes the place of the first, and one that breaks leaves it', async () => {
  await files.receive(files.link('one', HASH), body('again'));
  const broken = async function* () {
    yield Buffer.from('half');
    throw new Error('gone');
  };
  await assert.rejects(files.receive(files.link('one', HASH), broken()), /gone/);
  assert.equal(await read('one'), 'again');
  assert.deepEqual(readdirSync(join(directory, 'one')), [HASH]);
});

test('a link ends after an hour, and none can be guessed', async () => {
  const link = files.link('one', HASH);
  await assert.rejects(files.receive(`${link}x`, body('x')), { code: 'route_not_found' });
  now += 3_600_001;
  await assert.rejects(files.receive(link, body('x')), { code: 'route_not_found' });
});

test('what nobody asked for in a day goes, but for what a build holds', async () => {
  writeFileSync(join(directory, 'one', `${HASH}.part-1`), 'left by a process that died');
  const { release } = files.hold('one', [HASH]);
  now += 2 * DAY_MS;
  files.sweep();
  assert.deepEqual(readdirSync(join(directory, 'one')), [HASH]);
  release();
  files.sweep();
  assert.deepEqual(readdirSync(join(directory, 'one')), []);
});

test('many links of one key take none from another', async () => {
  const link = files.link('two', HASH);
  const first = files.link('one', HASH);
  for (let i = 0; i < UPLOAD_LIMITS.links; i++) files.link('one', HASH);
  await assert.rejects(files.receive(first, body('x')), { code: 'route_not_found' });
  await files.receive(link, body('x'));
});

test('uploads side by side have one bound together', async () => {
  const { keyBytes } = UPLOAD_LIMITS;
  UPLOAD_LIMITS.keyBytes = 50 * 1024 ** 2;
  const large = async function* () {
    for (let i = 0; i < 45; i++) yield Buffer.alloc(1024 ** 2);
  };
  try {
    const hashes = ['c', 'd', 'e'].map((letter) => letter.repeat(64));
    const ends = await Promise.allSettled(hashes.map((hash) => files.receive(files.link('three', hash), large())));
    const refused = ends.filter(({ status }) => status === 'rejected');
    assert.ok(refused.length >= 2);
    for (const end of refused) assert.equal((end as PromiseRejectedResult).reason.code, 'quota_exceeded');
    assert.ok(readdirSync(join(directory, 'three')).length <= 1);
  } finally {
    UPLOAD_LIMITS.keyBytes = keyBytes;
  }
});
