import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { basesOf, locateHierarchy } from './hierarchy.ts';
import { parseMountInfo } from './mountinfo.ts';

const V1 = `30 20 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
34 30 0:30 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
`;
const V1_SELF = '4:memory:/service/x\n3:pids:/\n2:freezer:/\n1:cpu,cpuacct:/user\n0::/\n';
const V2 = '29 22 0:25 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n';

test('on v1 our groups lie below our own, one directory for controllers that are mounted together', () => {
  const hierarchy = locateHierarchy(V1, V1_SELF, 'node');
  assert.deepEqual(hierarchy, {
    version: 1,
    bases: {
      cpu: '/sys/fs/cgroup/cpu,cpuacct/user/node',
      cpuacct: '/sys/fs/cgroup/cpu,cpuacct/user/node',
      memory: '/sys/fs/cgroup/memory/service/x/node',
      pids: '/sys/fs/cgroup/pids/node',
      freezer: '/sys/fs/cgroup/freezer/node',
    },
  });
  assert.equal(basesOf(hierarchy).length, 4);
});

test('a mount that shows a part of the hierarchy only is taken into account', () => {
  const mounts = V1.replace('0:28 / ', '0:28 /service ');
  const hierarchy = locateHierarchy(mounts, V1_SELF, 'node');
  assert.equal(hierarchy.version === 1 && hierarchy.bases.memory, '/sys/fs/cgroup/memory/x/node');
});

test('own groups outside of the visible part fall back to its root', () => {
  const hierarchy = locateHierarchy(V1, V1_SELF.replace('/service/x', '/../other'), 'node');
  assert.equal(hierarchy.version === 1 && hierarchy.bases.memory, '/sys/fs/cgroup/memory/node');
});

test('v2 is taken when v1 lacks a controller that we need', () => {
  assert.deepEqual(locateHierarchy(V2, '0::/user.slice\n', 'node'), {
    version: 2,
    base: '/sys/fs/cgroup/node',
    controllers: [],
  });
});

test('no control groups at all is an error that says so', () => {
  assert.throws(() => locateHierarchy('', '', 'node'), VivError);
});

test('mountinfo: optional fields and octal escapes', () => {
  const line = '36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue';
  assert.deepEqual(parseMountInfo(line), [
    { root: '/mnt1', target: '/mnt two', type: 'ext3', source: '/dev/root', superOptions: ['rw', 'errors=continue'] },
  ]);
});
