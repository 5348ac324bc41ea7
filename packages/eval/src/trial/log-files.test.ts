import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import tar from 'tar-stream';
import { LogBudget, unpackFiles } from './log-files.ts';

const scratch = mkdtempSync(join(tmpdir(), 'viv-logs-'));
after(() => rmSync(scratch, { recursive: true }));
let count = 0;

/** Unpacks what an agent could have made of its logs; returns where. */
async function unpack(fill: (pack: tar.Pack) => void, budget = new LogBudget()): Promise<string> {
  const target = join(scratch, `t${++count}`, 'logs');
  const pack = tar.pack();
  fill(pack);
  pack.finalize();
  await unpackFiles(pack as unknown as AsyncIterable<Uint8Array>, '/logs', target, (path) => path, budget);
  return target;
}

const all = (dir: string) => (readdirSync(dir, { recursive: true }) as string[]).sort();

test('files and directories arrive where they were', async () => {
  const dir = await unpack((pack) => {
    pack.entry({ name: 'agent/', type: 'directory' });
    pack.entry({ name: 'agent/a.txt' }, 'A');
    pack.entry({ name: './agent/deep/b.txt' }, 'B');
  });
  assert.deepEqual(all(dir), ['agent', 'agent/a.txt', 'agent/deep', 'agent/deep/b.txt']);
  assert.equal(readFileSync(join(dir, 'agent/deep/b.txt'), 'utf8'), 'B');
});

test('nothing is written beside the target: names that climb, absolute names, links of both kinds', async () => {
  const secret = join(scratch, 'secret');
  writeFileSync(secret, 'untouched');
  const budget = new LogBudget();
  const dir = await unpack((pack) => {
    pack.entry({ name: '../climbed' }, 'x');
    pack.entry({ name: 'a/../../climbed' }, 'x');
    pack.entry({ name: '/absolute' }, 'inside');
    pack.entry({ name: 'out', type: 'symlink', linkname: scratch });
    pack.entry({ name: 'out/secret' }, 'overwritten');
    pack.entry({ name: 'hard', type: 'link', linkname: secret });
    pack.entry({ name: 'pipe', type: 'fifo' });
  }, budget);
  assert.equal(readFileSync(secret, 'utf8'), 'untouched');
  assert.deepEqual(all(dir), ['absolute', 'out', 'out/secret']);
  assert.deepEqual(readdirSync(join(dir, '..')), ['logs']);
  assert.equal(budget.notes.filter((note) => note.includes('left out')).length, 3);
});

test('a file that comes twice, or in the place of a directory, does not end the download', async () => {
  const budget = new LogBudget();
  const dir = await unpack((pack) => {
    pack.entry({ name: 'f' }, 'first');
    pack.entry({ name: 'f' }, 'second');
    pack.entry({ name: 'f/below' }, 'x');
    pack.entry({ name: 'last' }, 'L');
  }, budget);
  assert.equal(readFileSync(join(dir, 'f'), 'utf8'), 'first');
  assert.equal(readFileSync(join(dir, 'last'), 'utf8'), 'L');
  assert.equal(budget.notes.length, 2);
});

test('more bytes than are kept are cut off, with a note', async () => {
  const budget = new LogBudget({ bytes: 1000, entries: 100 });
  const dir = await unpack((pack) => {
    pack.entry({ name: 'a' }, 'a'.repeat(600));
    pack.entry({ name: 'b' }, 'b'.repeat(100_000));
    pack.entry({ name: 'c' }, 'never');
  }, budget);
  assert.equal(readFileSync(join(dir, 'a')).length, 600);
  assert.equal(readFileSync(join(dir, 'b')).length, 400);
  assert.deepEqual(all(dir), ['a', 'b']);
  assert.match(budget.notes.join(), /more bytes than are kept/);
});

test('more files than are kept are cut off, with a note', async () => {
  const budget = new LogBudget({ bytes: 1 << 20, entries: 3 });
  const dir = await unpack((pack) => {
    for (let i = 0; i < 10; i++) pack.entry({ name: `f${i}` }, 'x');
  }, budget);
  assert.equal(all(dir).length, 3);
  assert.match(budget.notes.join(), /more files than are kept/);
});

test('a huge file that nobody asked for is not read to its end', async () => {
  const pack = tar.pack();
  pack.entry({ name: 'huge', size: 2 ** 40 });
  const budget = new LogBudget();
  await unpackFiles(pack as unknown as AsyncIterable<Uint8Array>, '/logs', join(scratch, 'huge'), () => null, budget);
  assert.match(budget.notes.join(), /huge and what comes after it/);
});

test('an archive that breaks off is an error', async () => {
  const pack = tar.pack();
  pack.entry({ name: 'f' }, 'x'.repeat(5000));
  pack.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of pack as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
  async function* half() {
    yield Buffer.concat(chunks).subarray(0, 1500);
  }
  await assert.rejects(unpackFiles(half(), '/logs', join(scratch, 'half'), (path) => path, new LogBudget()));
});
