import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAccounts } from './accounts.ts';

const PASSWD = `root:x:0:0:root:/root:/bin/bash
# a comment
user:x:1000:1001:,,,:/home/user:/bin/bash
twin:x:1000:1000::/home/twin:/bin/sh
user:x:7:7::/elsewhere:/bin/sh
homeless:x:5:5:::
broken:x:notanumber:5::/:
toolarge:x:4294967295:5::/:
short
`;
const GROUP = 'root:x:0:\nstaff:x:50:user\nusers:x:1001:\nalso:x:1001:\nbroken:x::\n';

test('users and groups are found by name and by number, the first line counting', () => {
  const { users, userNames, groupNames } = parseAccounts(PASSWD, GROUP);
  assert.deepEqual(users.get('user'), { name: 'user', uid: 1000, gid: 1001, home: '/home/user' });
  assert.equal(users.get('homeless')?.home, '/');
  assert.deepEqual([...users.keys()], ['root', 'user', 'twin', 'homeless']);
  assert.equal(userNames.get(1000), 'user');
  assert.deepEqual([groupNames.get(1001), groupNames.get(50)], ['users', 'staff']);
});

test('there is a root even where the files are missing', () => {
  const { users, userNames, groupNames } = parseAccounts('', '');
  assert.deepEqual(users.get('root'), { name: 'root', uid: 0, gid: 0, home: '/' });
  assert.deepEqual([userNames.get(0), groupNames.get(0)], ['root', 'root']);
});
