import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepsDeletedAccounts } from './qgroups.ts';

test('kernels from 6.11 on forget the account of a deleted subvolume by themselves', () => {
  for (const kernel of ['6.1.0-18-amd64', '5.15.0', '6.10.9']) assert.equal(keepsDeletedAccounts(kernel), true, kernel);
  for (const kernel of ['6.11.0', '6.18.44', '7.0.1-generic'])
    assert.equal(keepsDeletedAccounts(kernel), false, kernel);
});
