// FILE requests over a raw link.
import type { Link } from './guest.ts';
import { type Entry, parseEntries, parseTlv, T, type TlvItem, tlv } from './wire.ts';

export const OP = {
  stat: 1,
  list: 2,
  read: 3,
  write: 4,
  mkdir: 5,
  rename: 6,
  remove: 7,
  chmod: 8,
  chown: 9,
  symlink: 10,
  link: 11,
  utimes: 12,
  watch: 13,
  truncate: 14,
  statfs: 15,
} as const;

export const TAG = {
  path2: 3,
  mode: 4,
  flags: 5,
  offset: 6,
  length: 7,
  user: 8,
  depth: 9,
  base: 10,
  uid: 11,
  gid: 12,
  mtime: 13,
  window: 14,
  owner: 15,
  metadata: 16,
} as const;

export const FLAG = {
  follow: 1,
  self: 2,
  atomic: 4,
  append: 8,
  parents: 16,
  exclusive: 32,
  fsync: 64,
  atOffset: 128,
  recursive: 256,
  missingOk: 512,
  resolve: 1024,
  privileged: 2048,
  withMetadata: 4096,
} as const;

type Path = string | Uint8Array;

/** Sends FILE and returns its stream. */
export function request(link: Link, op: number, path: Path, extra: TlvItem[] = []): number {
  const id = link.id();
  link.send(T.FILE, id, tlv([[1, op], [2, path], ...extra]));
  return id;
}

/** An operation without data: the tags of its OK. */
export async function operate(link: Link, op: number, path: Path, extra: TlvItem[] = []): Promise<Map<number, Buffer>> {
  const id = request(link, op, path, extra);
  return parseTlv((await link.take(id, T.OK)).payload);
}

/** An operation that must fail: its errno. */
export async function refusal(link: Link, op: number, path: Path, extra: TlvItem[] = []): Promise<number> {
  const id = request(link, op, path, extra);
  return (await link.takeFail(id)).errno;
}

export async function stat(link: Link, path: Path, extra: TlvItem[] = []): Promise<Entry> {
  const [entry] = parseEntries((await operate(link, OP.stat, path, extra)).get(1) ?? Buffer.alloc(0));
  if (!entry) throw new Error('no entry');
  return entry;
}

export async function list(link: Link, path: Path, extra: TlvItem[] = []): Promise<Entry[]> {
  const id = request(link, OP.list, path, extra);
  const bytes = await link.collect(id, 1);
  await link.take(id, T.OK);
  return parseEntries(bytes);
}

export async function read(link: Link, path: Path, extra: TlvItem[] = []): Promise<Buffer> {
  const id = request(link, OP.read, path, extra);
  await link.take(id, T.OK);
  return link.collect(id, 1);
}

/** Writes within the credit the guest gives. */
export async function write(link: Link, path: Path, bytes: Uint8Array, extra: TlvItem[] = []): Promise<Entry> {
  const id = request(link, OP.write, path, extra);
  await pour(link, id, bytes);
  const ok = await link.take(id, T.OK);
  const [entry] = parseEntries(parseTlv(ok.payload).get(1) ?? Buffer.alloc(0));
  if (!entry) throw new Error('no entry');
  return entry;
}

/** Sends `bytes` on channel 0 and EOF, never beyond the window. Stops quietly when the stream fails. */
export async function pour(link: Link, id: number, bytes: Uint8Array): Promise<void> {
  let limit = 65_536;
  for (let at = 0; at < bytes.length; ) {
    while (at >= limit) {
      const frame = await link.takeWhere(
        (f) => f.stream === id && (f.type === T.WINDOW || f.type === T.FAIL),
        'credit',
      );
      if (frame.type === T.FAIL) {
        link.frames.push(frame);
        return;
      }
      limit = Number(frame.payload.readBigUInt64LE(8));
    }
    const end = Math.min(bytes.length, limit, at + 65_536);
    link.data(id, at, bytes.subarray(at, end));
    at = end;
  }
  link.eof(id, bytes.length);
}
