import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { dropRecord, gone, isLive, liveRecord, startTime, writeRecord } from './process-record.ts';

const directory = mkdtempSync(join(tmpdir(), 'viv-record-'));
after(() => rmSync(directory, { recursive: true }));

test('a process that wrote itself down is found and can take itself back', () => {
  const file = join(directory, 'self.json');
  writeRecord(file, { url: 'http://127.0.0.1:1' });
  assert.equal(liveRecord(file)?.pid, process.pid);
  assert.equal(liveRecord(file)?.url, 'http://127.0.0.1:1');
  dropRecord(file);
  assert.equal(liveRecord(file), undefined);
});

test('a reused pid is told by its start time, another boot by its id', () => {
  const file = join(directory, 'stale.json');
  const record = writeRecord(file);
  assert.equal(isLive({ ...record, startTime: '1' }), false);
  assert.equal(isLive({ ...record, bootId: 'another' }), false);
  writeFileSync(file, JSON.stringify({ ...record, startTime: '1' }));
  assert.equal(liveRecord(file), undefined);
});

test('a torn or missing record is no process', () => {
  const file = join(directory, 'torn.json');
  writeFileSync(file, '{"pid": 12');
  assert.equal(liveRecord(file), undefined);
  assert.equal(liveRecord(join(directory, 'missing.json')), undefined);
});

test('another process’s record is left alone', async () => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const file = join(directory, 'other.json');
  const own = writeRecord(file);
  writeFileSync(file, JSON.stringify({ ...own, pid: child.pid, startTime: startTime(child.pid!) }));
  dropRecord(file);
  assert.match(readFileSync(file, 'utf8'), new RegExp(`"pid":${child.pid}`));
  const record = liveRecord(file)!;
  assert.equal(await gone(record, 40), false);
  child.kill('SIGKILL');
  assert.equal(await gone(record, 10_000), true);
});
