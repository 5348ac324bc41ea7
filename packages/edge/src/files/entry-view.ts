import type { Entry, WatchEvent } from '@vivarium/protocol';
import type { CellEntry } from '../cell/entry.ts';
import type { CellWatchEvent } from '../cell/watch-event.ts';

/** A guest's entry as the API shows it, at its full path. */
export function entryView(entry: CellEntry, path: Buffer): Entry {
  const name = path.subarray(path.lastIndexOf(0x2f) + 1);
  return {
    name: name.toString(),
    path: path.toString(),
    ...exact('pathB64', path),
    type: entry.type,
    mode: entry.mode,
    uid: entry.uid,
    gid: entry.gid,
    sizeBytes: entry.size,
    mtimeMs: Number(entry.mtimeNs / 1000n) / 1000,
    nlink: entry.nlink,
    ...(entry.target ? { target: entry.target.toString(), ...exact('targetB64', entry.target) } : {}),
    ...(entry.leadsTo ? { leadsTo: entry.leadsTo } : {}),
    ...(entry.metadata ? { metadata: entry.metadata } : {}),
  };
}

export function watchView(event: CellWatchEvent): WatchEvent {
  return {
    kind: event.kind,
    path: event.path.toString(),
    ...exact('pathB64', event.path),
    isDir: event.isDir,
    ...(event.cookie ? { cookie: event.cookie } : {}),
  };
}

/** A path for the journal: text, and the bytes where they are no text. */
export function pathRecord(path: Uint8Array): Record<string, string> {
  const bytes = Buffer.from(path);
  return { path: bytes.toString(), ...exact('pathB64', bytes) };
}

/** Beneath a directory. */
export function joinPath(directory: Uint8Array, name: Buffer): Buffer {
  if (name.length === 0 || (name.length === 1 && name[0] === 0x2e)) return Buffer.from(directory);
  const slash = directory.at(-1) === 0x2f ? '' : '/';
  return Buffer.concat([directory, Buffer.from(slash), name]);
}

/** The bytes in base64, only where UTF-8 would lose some. */
function exact<K extends string>(key: K, bytes: Buffer): { [P in K]?: string } {
  if (bytes.every((byte) => byte < 0x80) || Buffer.from(bytes.toString()).equals(bytes)) return {};
  return { [key]: bytes.toString('base64') } as { [P in K]: string };
}
