import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Guest, type Link } from './guest.ts';

let guest: Guest;
let link: Link;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());

test('a command gives its output, its errors and its exit code', async () => {
  const run = await link.sh('echo out; echo err >&2; exit 3');
  assert.deepEqual([run.kind, run.code, String(run.out), String(run.err)], [0, 3, 'out\n', 'err\n']);
});
