// The guest protocol as raw bytes: frame types, TLV, encoders and decoders. Test-only and independent of the product's
// own client, so that a mistake there cannot hide one here.

export const T = {
  HELLO: 0x01,
  CONFIG: 0x02,
  SPAWN: 0x10,
  START: 0x11,
  SIGNAL: 0x12,
  RESIZE: 0x13,
  RELEASE: 0x14,
  CANCEL: 0x15,
  KILLTREE: 0x16,
  FILE: 0x20,
  CONNECT: 0x21,
  LISTEN: 0x22,
  PROCS: 0x24,
  DATA: 0x30,
  EOF: 0x31,
  WINDOW: 0x32,
  PING: 0x40,
  PONG: 0x41,
  CLOCK: 0x50,
  RESEED: 0x51,
  SHUTDOWN: 0x52,
  HELLO_UP: 0x81,
  STATE: 0x82,
  READY: 0x83,
  SPAWNED: 0x90,
  EXITED: 0x91,
  FAIL: 0x92,
  OPENED: 0x93,
  OK: 0x94,
} as const;

export type Frame = { type: number; chan: number; stream: number; payload: Buffer };
type TlvValue = string | Uint8Array | number | bigint;
/** `[tag, value]`: numbers travel as u32, bigints as u64. */
export type TlvItem = readonly [number, TlvValue];

export function encodeFrame(type: number, stream: number, payload: Uint8Array = Buffer.alloc(0), chan = 0): Buffer {
  const frame = Buffer.alloc(12 + payload.length);
  frame.writeUInt32LE(payload.length, 0);
  frame[4] = type;
  frame[5] = chan;
  frame.writeUInt32LE(stream, 8);
  frame.set(payload, 12);
  return frame;
}

function valueBytes(value: TlvValue): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  if (typeof value === 'number') return u32(value);
  if (typeof value === 'bigint') return u64(value);
  return Buffer.from(value);
}

export function tlv(items: readonly TlvItem[]): Buffer {
  return Buffer.concat(
    items.flatMap(([tag, value]) => {
      const bytes = valueBytes(value);
      const head = Buffer.alloc(8);
      head.writeUInt16LE(tag, 0);
      head.writeUInt32LE(bytes.length, 4);
      return [head, bytes];
    }),
  );
}

export function parseTlv(list: Buffer): Map<number, Buffer> {
  const items = new Map<number, Buffer>();
  for (let at = 0; at < list.length; ) {
    const len = list.readUInt32LE(at + 4);
    items.set(list.readUInt16LE(at), list.subarray(at + 8, at + 8 + len));
    at += 8 + len;
  }
  return items;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

export function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
  return bytes;
}

export type Entry = {
  type: number;
  mode: number;
  uid: number;
  gid: number;
  nlink: number;
  size: number;
  mtimeNs: bigint;
  name: Buffer;
  link: Buffer;
  targetType: number;
  targetMode: number;
  /** `key=value` in the order of the record. */
  metadata: string[];
};

export function parseEntries(bytes: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at)) {
    const nameLen = bytes.readUInt16LE(at + 6);
    const linkLen = bytes.readUInt16LE(at + 8);
    const name = at + 60;
    const link = name + nameLen;
    const end = at + bytes.readUInt32LE(at);
    entries.push({
      type: bytes.readUInt8(at + 4),
      mode: bytes.readUInt32LE(at + 12),
      uid: bytes.readUInt32LE(at + 16),
      gid: bytes.readUInt32LE(at + 20),
      nlink: bytes.readUInt32LE(at + 24),
      size: Number(bytes.readBigUInt64LE(at + 36)),
      mtimeNs: bytes.readBigInt64LE(at + 44),
      name: bytes.subarray(name, name + nameLen),
      link: bytes.subarray(link, link + linkLen),
      targetType: bytes.readUInt8(at + 5),
      targetMode: bytes.readUInt16LE(at + 10),
      metadata: parsePairs(bytes.subarray(link + linkLen, end)),
    });
  }
  return entries;
}

function parsePairs(block: Buffer): string[] {
  const pairs: string[] = [];
  for (let at = 0; at < block.length; ) {
    const key = at + 3;
    const value = key + block.readUInt8(at);
    const end = value + block.readUInt16LE(at + 1);
    pairs.push(`${block.subarray(key, value)}=${block.subarray(value, end)}`);
    at = end;
  }
  return pairs;
}
