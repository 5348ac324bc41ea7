import { randomBytes } from 'node:crypto';
import { lstat, rename, rmdir, unlink } from 'node:fs/promises';
import { constants } from 'node:os';
import { VivError } from '@vivarium/protocol';
import { at, openParent } from './descent.ts';
import { named } from './failure.ts';
import { namesOf, pathOf } from './names.ts';
import { UPLOAD } from './upload.ts';
import { namesIn, walk } from './walk.ts';

/** Begins the names of trees on their way out. */
const TRASH = 'trash-';
const UNLINKS_AT_ONCE = 32;
/** Files that are taken from a tree in a full volume before its move is tried again. */
const MOVE_EVERY = 64;
/** Programs that still have a directory of the tree open can go on making files in it; the next start sweeps the rest. */
const ROUNDS = 3;

export type Place = { root: string; staging: string };

/**
 * Removes a path. A tree is first moved, in one step, to where no sandbox sees it; `rest` resolves when its files are gone too and never
 * rejects.
 */
export async function removePath(
  { root, staging }: Place,
  names: readonly Buffer[],
  recursive: boolean,
): Promise<{ rest: Promise<void> }> {
  return named(names, async () => {
    await using found = await openParent(root, names);
    const path = at(found.parent, found.name);
    if (!(await lstat(path)).isDirectory()) await unlink(path);
    else if (!recursive) await removeEmpty(path, names);
    else {
      const trash = `${TRASH}${randomBytes(12).toString('hex')}`;
      await moveAway(root, names, () => rename(path, `${staging}/${trash}`));
      return { rest: purge(staging, trash).catch(() => {}) };
    }
    return { rest: Promise.resolve() };
  });
}

/** A full volume has no room for the move either, but takes files away: so many go first that it has. */
async function moveAway(root: string, names: readonly Buffer[], move: () => Promise<void>): Promise<void> {
  const moved = () =>
    move().then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (isFull(error)) return false;
        throw error;
      },
    );
  if (await moved()) return;
  let removed = 0;
  for await (const { type, name } of walk(root, names, { depth: 0 })) {
    if (type === 'dir') continue;
    await using file = await openParent(root, [...names, ...namesOf(name)]);
    await unlink(at(file.parent, file.name));
    if (++removed % MOVE_EVERY === 0 && (await moved())) return;
  }
  await move();
}

/** Node has no name for EDQUOT. */
function isFull({ code, errno }: NodeJS.ErrnoException): boolean {
  return code === 'ENOSPC' || errno === -constants.errno.EDQUOT;
}

async function removeEmpty(path: Buffer, names: readonly Buffer[]): Promise<void> {
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY') throw error;
    const shown = pathOf(names).toString();
    throw new VivError('directory_not_empty', `${shown} is not empty`, { details: { path: shown } });
  });
}

/** Removes what a process that ended left on its way in or out of a volume. */
export async function sweepStaging(staging: string): Promise<void> {
  for await (const name of namesIn(staging)) {
    const text = name.toString('latin1');
    if (text.startsWith(UPLOAD)) await unlink(`${staging}/${text}`).catch(() => {});
    else if (text.startsWith(TRASH)) await purge(staging, text).catch(() => {});
  }
}

/**
 * Removes a tree that lies in `staging`, however deep: each directory below is moved up beside it, under a number, before its turn comes.
 * So no path grows long, and nothing has to be remembered but how many there are.
 */
async function purge(staging: string, first: string): Promise<void> {
  const run = `${TRASH}${randomBytes(12).toString('hex')}`;
  await rename(`${staging}/${first}`, `${staging}/${run}.0`);
  let count = 1;
  const empty = async (directory: string) => {
    const batch: Promise<void>[] = [];
    for await (const name of namesIn(directory)) {
      const path = Buffer.concat([Buffer.from(`${directory}/`), name]);
      batch.push(
        unlink(path).catch(async (error: NodeJS.ErrnoException) => {
          if (error.code === 'EISDIR') await rename(path, `${staging}/${run}.${count++}`);
          else if (error.code !== 'ENOENT') throw error;
        }),
      );
      if (batch.length === UNLINKS_AT_ONCE) await Promise.all(batch.splice(0));
    }
    await Promise.all(batch);
    await rmdir(directory);
  };
  for (let next = 0; next < count; next++) {
    for (let round = 1; round <= ROUNDS; round++) {
      const left = await empty(`${staging}/${run}.${next}`).then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ENOTEMPTY' || isFull(error),
      );
      if (!left) break;
    }
  }
}
