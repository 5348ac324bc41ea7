import { constants } from 'node:os';
import { type ErrorCode, VivError } from '@vivarium/protocol';
import { pathOf } from './names.ts';

type Row = readonly [code: ErrorCode, why: string];

/** What a failed call of the file system means to whoever named the path. */
const BY_ERRNO: Record<string, Row> = {
  ENOENT: ['path_not_found', 'is not there'],
  ENOTDIR: ['not_directory', 'is no directory, or a name above it is none (symbolic links are not followed)'],
  ELOOP: ['not_regular_file', 'is a symbolic link, and links in volumes are not followed'],
  // The only thing that a file system of volumes can't do: chmod(2) of a link.
  ENOTSUP: ['not_regular_file', 'is a symbolic link, whose mode can’t be changed'],
  EOPNOTSUPP: ['not_regular_file', 'is a symbolic link, whose mode can’t be changed'],
  EEXIST: ['path_exists', 'is there already'],
  EISDIR: ['is_directory', 'is a directory'],
  ENOTEMPTY: ['directory_not_empty', 'is not empty'],
  EDQUOT: ['disk_full', 'does not fit: the volume has used up its size'],
  ENOSPC: ['node_disk_full', 'does not fit: the disk of the node is full'],
  ENAMETOOLONG: ['invalid_argument', 'is too long'],
  EROFS: [
    'file_error',
    'can’t be changed: the file system of volumes has failed; `viv down` and `viv up` mount it anew',
  ],
  EIO: [
    'file_error',
    'can’t be read or written: the file system of volumes has failed; `viv down` and `viv up` mount it anew',
  ],
  EMLINK: ['file_error', 'can have no more names'],
  EAGAIN: ['file_error', 'is held by a program in a sandbox (a lease)'],
};

/** A failed call of node:fs as a VivError that names the path; anything else as it is. */
export function failure(thrown: unknown, names: readonly Buffer[]): unknown {
  const errno = errnoOf(thrown);
  if (thrown instanceof VivError || errno === undefined) return thrown;
  const [code, why] = BY_ERRNO[errno] ?? (['file_error', `could not be worked on (${errno})`] as const);
  const path = pathOf(names).toString();
  return new VivError(code, `${path} ${why}`, { details: { path, errno }, cause: thrown });
}

/** Node has no name for some numbers, EDQUOT among them: their code is "Unknown system error". */
function errnoOf(thrown: unknown): string | undefined {
  const { code, errno } = (thrown ?? {}) as NodeJS.ErrnoException;
  if (code !== undefined && /^E[A-Z0-9]+$/.test(code)) return code;
  return errno === undefined ? undefined : NAMES.get(-errno);
}

const NAMES = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** Does the work, with failures of the file system told as such of this path. */
export async function named<T>(names: readonly Buffer[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw failure(thrown, names);
  }
}
