import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkedDomain } from './domain.ts';

test('a domain is a host name, with a port or without', () => {
  for (const good of ['viv.test', 'localhost', 'a-b.example.com:7700', 'VIV.Example'])
    assert.equal(checkedDomain(good), good);
  for (const bad of ['', 'https://viv.test', 'a b', 'viv.test:99999999', 'viv.test:0', '-a.test', 'a..b', 'viv.test/x'])
    assert.throws(() => checkedDomain(bad), { code: 'invalid_argument', hint: /without https/ }, bad);
});
