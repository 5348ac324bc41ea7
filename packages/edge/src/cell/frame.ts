import { VivError } from '@vivarium/protocol';

/** Bytes before the payload: length u32, type u8, chan u8, flags u16, stream u32 (docs/guest-protocol.md, "Frame"). */
export const HEADER_BYTES = 12;
/** Most bytes of a stream in one DATA frame, behind the 8 bytes of its offset. */
export const DATA_BYTES_MAX = 65_536;
/** Largest SPAWN and CONFIG. */
export const REQUEST_BYTES_MAX = 1_048_576;
/** Largest payload of any other frame. */
export const OTHER_BYTES_MAX = 16_384;
export const PROTOCOL_VERSION = 1;

export const FRAME = {
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

type Shape = { min: number; max: number; maxChan: number; onStream: boolean };

/** What the guest may send: payload length, channel, and whether it is about a stream or the connection. Indexed by type. */
const SHAPES: (Shape | undefined)[] = [];
const shape = (type: number, min: number, max: number, onStream: boolean, maxChan = 0): void => {
  SHAPES[type] = { min, max, maxChan, onStream };
};
shape(FRAME.HELLO_UP, 28, 28, false);
shape(FRAME.STATE, 8, OTHER_BYTES_MAX, true);
shape(FRAME.READY, 0, 0, false);
shape(FRAME.SPAWNED, 4, 4, true);
shape(FRAME.EXITED, 32, 32, true);
shape(FRAME.FAIL, 8, 8 + 256, true);
shape(FRAME.OPENED, 4, 4, true);
shape(FRAME.OK, 0, OTHER_BYTES_MAX, true);
shape(FRAME.DATA, 9, 8 + DATA_BYTES_MAX, true, 2);
shape(FRAME.EOF, 8, 8, true, 2);
shape(FRAME.WINDOW, 16, 16, true);
shape(FRAME.PING, 8, 8, false);
shape(FRAME.PONG, 8, 8, false);

/** Throws unless a guest may send a frame with this header. */
export function checkHeader(length: number, type: number, chan: number, flags: number, stream: number): void {
  const allowed = SHAPES[type];
  if (allowed === undefined) throw violation(`frame of type ${type}`);
  if (length < allowed.min || length > allowed.max) throw violation(`frame of type ${type} with ${length} bytes`);
  if (flags !== 0 || chan > allowed.maxChan || (stream !== 0) !== allowed.onStream) {
    throw violation(`frame of type ${type} with flags ${flags}, channel ${chan}, stream ${stream}`);
  }
}

/** The guest broke the protocol. Ends the connection; if it repeats, the sandbox. */
export function violation(what: string): VivError {
  return new VivError('sandbox_lost', `the guest broke the protocol: ${what}`, {
    fault: 'agent',
    details: { reason: 'protocol' },
  });
}

export function isViolation(error: unknown): boolean {
  return error instanceof VivError && error.details.reason === 'protocol';
}

/** Writes a header at the start of `into`. */
export function putHeader(into: Buffer, length: number, type: number, chan: number, stream: number): void {
  into.writeUInt32LE(length, 0);
  into[4] = type;
  into[5] = chan;
  into[6] = 0;
  into[7] = 0;
  into.writeUInt32LE(stream, 8);
}

/** Offsets are u64 on the wire; from 2^53 on they can't be real. */
export function readOffset(from: Buffer, at: number): number {
  const high = from.readUInt32LE(at + 4);
  if (high >= 0x20_0000) throw violation('offset of 2^53 or more');
  return high * 0x1_0000_0000 + from.readUInt32LE(at);
}

export function putOffset(into: Buffer, value: number, at: number): void {
  into.writeUInt32LE(value % 0x1_0000_0000, at);
  into.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + 4);
}
