import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { LogFile } from './log-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'viv-log-'));
after(() => rmSync(directory, { recursive: true }));

test('a log never takes more than its size times the files kept', () => {
  const log = new LogFile(join(directory, 'a'), 'x.log', { maxBytes: 1000, kept: 3 });
  for (let n = 0; n < 200; n += 1) log.write(`${String(n).padStart(49, '0')}\n`);
  log.close();
  assert.deepEqual(readdirSync(join(directory, 'a')).sort(), ['x.log', 'x.log.1', 'x.log.2']);
  for (const name of readdirSync(join(directory, 'a'))) assert.ok(statSync(join(directory, 'a', name)).size <= 1000);
  assert.match(readFileSync(join(directory, 'a', 'x.log'), 'utf8'), /199\n$/);
});

test('a log that is opened again goes on where it was', () => {
  for (const word of ['one', 'two']) {
    const log = new LogFile(join(directory, 'b'), 'x.log');
    log.write(`${word}\n`);
    log.close();
  }
  assert.equal(readFileSync(join(directory, 'b', 'x.log'), 'utf8'), 'one\ntwo\n');
  assert.equal(statSync(join(directory, 'b', 'x.log')).mode & 0o777, 0o600);
});
