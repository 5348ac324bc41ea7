import type { Duplex } from 'node:stream';
import { bytesPassed } from '@vivarium/core/passing-memory.ts';
import { VivError } from '@vivarium/protocol';
import { FRAME, HEADER_BYTES, PROTOCOL_VERSION, putHeader, putOffset, violation } from './frame.ts';
import { FrameParser, type FrameSink } from './frame-parser.ts';
import { parseState, type RetainedState } from './retained-state.ts';

/** Above this the socket takes no more DATA until it has drained. */
const SOCKET_FULL_BYTES = 1_048_576;
/** A guest that makes us queue this much, control frames included, does not read: the connection is given up. */
const SOCKET_STUCK_BYTES = 67_108_864;
/** STATE frames: 1,024 processes and 64 listeners. */
const STATES_MAX = 1_088;
/**
 * Control frames are exempt from credit, so they are rationed: the guest owes each to something the host has sent. Generous by
 * construction (an exec is 3 frames down and about 8 up), yet a guest can't busy the host for nothing.
 */
const CONTROL_START = 4_096;
const CONTROL_PER_FRAME = 16;
const CONTROL_PER_BYTE = 1 / 256;

export type GuestHello = { configured: boolean; bootNonce: Buffer };

export interface ConnectionOwner extends FrameSink {
  /** The handshake is done: from now on requests may be sent. */
  greeted(hello: GuestHello, states: RetainedState[]): void;
  /** Called once. No frame is delivered after it. */
  closed(error: VivError): void;
  /** The socket takes data again. */
  drained(): void;
}

/** One connection to a guest: handshake, frames both ways, and its end. */
export class Connection implements FrameSink {
  readonly #socket: Duplex;
  readonly #owner: ConnectionOwner;
  readonly #parser: FrameParser;
  #hello: GuestHello | null = null;
  #states: RetainedState[] | null = [];
  #control = CONTROL_START;
  #corked = false;
  #open = true;
  bytesUp = 0;
  bytesDown = 0;

  constructor(socket: Duplex, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    this.#parser = new FrameParser(this);
    socket.on('data', this.#take);
    socket.on('drain', () => this.#owner.drained());
    socket.on('error', (error) => this.end(broken(error.message, error)));
    socket.on('close', () => this.end(broken('closed')));
    socket.on('end', () => this.end(broken('closed by the guest')));
    this.#greet();
  }

  /** Closes it; the owner hears of it before this returns. */
  end(error: VivError): void {
    if (!this.#open) return;
    this.#open = false;
    this.#parser.stop();
    this.#socket.destroy();
    this.#owner.closed(error);
  }

  get full(): boolean {
    return this.#socket.writableLength >= SOCKET_FULL_BYTES;
  }

  /** A whole frame other than DATA. */
  send(frame: Buffer): void {
    this.#control += CONTROL_PER_FRAME;
    this.#write(frame);
  }

  sendData(stream: number, offset: number, bytes: Uint8Array): void {
    const head = Buffer.allocUnsafe(HEADER_BYTES + 8);
    putHeader(head, 8 + bytes.length, FRAME.DATA, 0, stream);
    putOffset(head, offset, HEADER_BYTES);
    this.#control += CONTROL_PER_FRAME + bytes.length * CONTROL_PER_BYTE;
    this.#write(head);
    this.#write(bytes);
  }

  frame(type: number, chan: number, stream: number, payload: Buffer): void {
    if (this.#states !== null) return this.#shakeHands(type, stream, payload);
    if (--this.#control < 0) throw violation('more control frames than anything asked for');
    if (type === FRAME.HELLO_UP || type === FRAME.STATE || type === FRAME.READY) throw violation('a second handshake');
    this.#owner.frame(type, chan, stream, payload);
  }

  data(chan: number, stream: number, offset: number, piece: Buffer): void {
    if (this.#states !== null) throw violation('data before READY');
    this.#owner.data(chan, stream, offset, piece);
  }

  readonly #take = (chunk: Buffer): void => {
    bytesPassed(chunk.length);
    if (!this.#open) return;
    this.bytesUp += chunk.length;
    try {
      this.#parser.push(chunk);
    } catch (error) {
      this.end(VivError.from(error));
    }
  };

  #greet(): void {
    const hello = Buffer.alloc(HEADER_BYTES + 20);
    putHeader(hello, 20, FRAME.HELLO, 0, 0);
    hello.writeUInt16LE(PROTOCOL_VERSION, HEADER_BYTES);
    crypto.getRandomValues(hello.subarray(HEADER_BYTES + 4));
    this.#write(hello);
  }

  #shakeHands(type: number, stream: number, payload: Buffer): void {
    const states = this.#states as RetainedState[];
    if (this.#hello === null) {
      if (type !== FRAME.HELLO_UP) throw violation(`frame of type ${type} before HELLO`);
      const version = payload.readUInt16LE(0);
      if (version !== PROTOCOL_VERSION) throw violation(`protocol version ${version}`);
      this.#hello = { configured: payload[2] !== 0, bootNonce: Buffer.from(payload.subarray(4, 20)) };
    } else if (type === FRAME.STATE) {
      if (states.length === STATES_MAX) throw violation('too many retained streams');
      states.push(parseState(stream, payload));
    } else if (type === FRAME.READY) {
      this.#states = null;
      this.#owner.greeted(this.#hello, states);
    } else {
      throw violation(`frame of type ${type} before READY`);
    }
  }

  /** Everything written in one turn of the event loop goes out with one system call. */
  #write(bytes: Uint8Array): void {
    if (!this.#open) return;
    if (!this.#corked) {
      this.#corked = true;
      this.#socket.cork();
      process.nextTick(this.#uncork);
    }
    this.bytesDown += bytes.length;
    this.#socket.write(bytes);
    if (this.#socket.writableLength > SOCKET_STUCK_BYTES) {
      process.nextTick(() => this.end(violation('it does not read')));
    }
  }

  readonly #uncork = (): void => {
    this.#corked = false;
    this.#socket.uncork();
  };
}

function broken(why: string, cause?: unknown): VivError {
  return new VivError('connection_lost', `the connection to the sandbox's PID 1 broke: ${why}`, { cause });
}
