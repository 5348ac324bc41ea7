import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryGroups } from './dying-groups.ts';

test('memory groups are counted from /proc/cgroups', () => {
  const text = '#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t2\t1\nmemory\t4\t1027\t1\nfreezer\t6\t2\t1\n';
  assert.equal(memoryGroups(text), 1027);
});

test('a kernel without the controller has none', () => {
  assert.equal(memoryGroups('#subsys_name\thierarchy\tnum_cgroups\tenabled\n'), 0);
});
