import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { E2bStore } from './store.ts';

test('no other user of the machine reads what is stored', () => {
  const directory = mkdtempSync(join(tmpdir(), 'viv-store-'));
  const store = new E2bStore(join(directory, 'e2b.db'));
  for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o077, 0, name);
  store.close();
  rmSync(directory, { recursive: true });
});
