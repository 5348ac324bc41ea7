import { VivError } from '@vivarium/protocol';
import type { Cell } from '../cell/cell.ts';

export type Ids = { uid: number; gid: number };

const FILE_MAX = 1024 * 1024;

/**
 * Numbers of a `user[:group]` by the image's own passwd and group files. A user alone stands for the group that passwd gives it. Throws
 * `build_failed` for a name that is not there.
 */
export async function idsOf(cell: Cell, spec: string): Promise<Ids> {
  const [user, group] = spec.split(':') as [string, string | undefined];
  const passwd = /^\d+$/.test(user) ? null : await rowOf(cell, '/etc/passwd', user);
  const uid = Number(passwd ? passwd[2] : user);
  if (group === undefined) return checked({ uid, gid: Number(passwd ? passwd[3] : user) }, spec);
  if (/^\d+$/.test(group)) return checked({ uid, gid: Number(group) }, spec);
  return checked({ uid, gid: Number((await rowOf(cell, '/etc/group', group))[2]) }, spec);
}

function checked(ids: Ids, spec: string): Ids {
  if (ids.uid >= 0 && ids.uid < 65_536 && ids.gid >= 0 && ids.gid < 65_536) return ids;
  throw new VivError('build_failed', `the owner ${spec} has no ids from 0 to 65535`);
}

async function rowOf(cell: Cell, path: string, name: string): Promise<string[]> {
  for (const line of (await textOf(cell, path)).split('\n')) {
    const fields = line.split(':');
    if (fields[0] === name) return fields;
  }
  throw new VivError('build_failed', `${path} of the image has no "${name}"`, {
    hint: 'Create the account in a RUN before, or use numbers.',
  });
}

async function textOf(cell: Cell, path: string): Promise<string> {
  try {
    const { stream } = await cell.read(Buffer.from(path), { length: FILE_MAX });
    const parts: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) parts.push(Buffer.from(chunk));
    return Buffer.concat(parts).toString('utf8');
  } catch (thrown) {
    if (VivError.from(thrown).code === 'path_not_found') return '';
    throw thrown;
  }
}
