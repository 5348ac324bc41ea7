import assert from 'node:assert/strict';
import { test } from 'node:test';
import { journalLine, shellWords } from './journal-line.ts';

const record = { seq: 1, at: '2026-01-02T03:04:05.678Z', prev: '', hash: '' };

test('an ended command shows how, how long, and its output', () => {
  const stream = (text: string) => ({
    bytes: text.length,
    truncated: false,
    b64: Buffer.from(text).toString('base64'),
  });
  const data = {
    outcome: { type: 'exited', code: 1 },
    exitCode: 1,
    durationMs: 1500,
    annotations: ['disk_limit'],
    stdout: stream('a\nb\u001b[2J\n'),
    stderr: { bytes: 5000, truncated: true },
  };
  assert.equal(
    journalLine({ ...record, type: 'exec_end', exec: 'e'.repeat(20), data }),
    `2026-01-02 03:04:05.678  exec_end   ${'e'.repeat(20)} exited 1 after 1.5s (disk_limit)\n    | a\n    | b\\x1B[2J\n    stderr: 4.9 KiB, cut`,
  );
});

test('records of every type are shown, also of ones to come', () => {
  for (const type of ['sandbox', 'exec_start', 'exec_end', 'file', 'port', 'reach', 'state'] as const) {
    assert.match(
      journalLine({ ...record, type, data: type === 'exec_start' ? { argv: ['x'] } : {} }),
      new RegExp(type),
    );
  }
});

test('a command is shown as one would type it', () => {
  assert.equal(shellWords(['/bin/sh', '-c', 'a | b']), 'a | b');
  assert.equal(shellWords(['echo', 'a b', "it's", '']), `echo 'a b' 'it'\\''s' ''`);
});
