import type { Accounts } from '@vivarium/edge/edge.ts';
import type { Entry, FileType } from '@vivarium/protocol';
import type { EntryInfo } from '@vivarium/protocol/e2b/filesystem.ts';
import { nameOf } from './filesystem-user.ts';

/** Latest time of a protobuf timestamp: 9999-12-31T23:59:59.999Z. The earliest is the year 1. */
const TIME_MAX_MS = 253_402_300_799_999;
const TIME_MIN_MS = -62_135_596_800_000;
/** Directories of some file systems have no size; clients take one that is not zero for granted. */
const DIRECTORY_BYTES = 4096;

const TYPES: Partial<Record<FileType, EntryInfo['type']>> = {
  file: 'FILE_TYPE_FILE',
  dir: 'FILE_TYPE_DIRECTORY',
  symlink: 'FILE_TYPE_SYMLINK',
};
/** First letters of permissions as Go's FileMode writes them, which clients show. */
const LETTERS: Partial<Record<FileType, string>> = {
  dir: 'd',
  symlink: 'L',
  fifo: 'p',
  socket: 'S',
  char: 'Dc',
  block: 'D',
};

/** An entry (looked at with `resolve`) as E2B clients read it. */
export function entryInfo(entry: Entry, path: string, accounts: Accounts): EntryInfo {
  const { type, mode, leadsTo } = entry;
  return {
    name: nameOf(path),
    type: TYPES[leadsTo?.type ?? type] ?? 'FILE_TYPE_UNSPECIFIED',
    path,
    size: String(type === 'dir' && entry.sizeBytes === 0 ? DIRECTORY_BYTES : entry.sizeBytes),
    mode: (type === 'symlink' ? (leadsTo?.mode ?? 0) : mode) & 0o777,
    permissions: permissions(type, mode),
    owner: accounts.userNames.get(entry.uid) ?? String(entry.uid),
    group: accounts.groupNames.get(entry.gid) ?? String(entry.gid),
    modifiedTime: new Date(Math.max(TIME_MIN_MS, Math.min(entry.mtimeMs, TIME_MAX_MS))).toISOString(),
    ...(entry.target !== undefined && { symlinkTarget: entry.target }),
    ...(entry.metadata && { metadata: entry.metadata }),
  };
}

/** Are there owners that have no name yet? They may have been added since the names were read. */
export function hasStrangers(entries: readonly Entry[], { userNames, groupNames }: Accounts): boolean {
  return entries.some(({ uid, gid }) => !userNames.has(uid) || !groupNames.has(gid));
}

function permissions(type: FileType, mode: number): string {
  const special = `${mode & 0o4000 ? 'u' : ''}${mode & 0o2000 ? 'g' : ''}${mode & 0o1000 ? 't' : ''}`;
  const bits = [...'rwxrwxrwx'].map((letter, at) => (mode & (0o400 >> at) ? letter : '-')).join('');
  return ((LETTERS[type] ?? '') + special || '-') + bits;
}
