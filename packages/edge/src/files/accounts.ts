import type { Account, Accounts } from '../edge.ts';

/** Larger ids mean "no change" to the kernel. */
const ID_MAX = 0xffff_fffe;

/** passwd(5) and group(5). The first line counts where several have the same name or id, as for getpwnam(3). An image without a root still has one. */
export function parseAccounts(passwd: string, group: string): Accounts {
  const users = new Map<string, Account>();
  const userNames = new Map<number, string>();
  const groupNames = new Map<number, string>();
  for (const [name = '', , uid = '', gid = '', , home = ''] of lines(passwd)) {
    const account = { name, uid: idOf(uid), gid: idOf(gid), home: home === '' ? '/' : home };
    if (name === '' || account.uid < 0 || account.gid < 0) continue;
    if (!users.has(name)) users.set(name, account);
    if (!userNames.has(account.uid)) userNames.set(account.uid, name);
  }
  for (const [name = '', , gid = ''] of lines(group)) {
    const id = idOf(gid);
    if (name !== '' && id >= 0 && !groupNames.has(id)) groupNames.set(id, name);
  }
  if (!users.has('root')) users.set('root', { name: 'root', uid: 0, gid: 0, home: '/' });
  if (!userNames.has(0)) userNames.set(0, 'root');
  if (!groupNames.has(0)) groupNames.set(0, 'root');
  return { users, userNames, groupNames };
}

function* lines(text: string): Generator<string[]> {
  for (const line of text.split('\n')) if (line !== '' && !line.startsWith('#')) yield line.split(':');
}

/** -1 where it is none. */
function idOf(text: string): number {
  const id = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  return id <= ID_MAX ? id : -1;
}
