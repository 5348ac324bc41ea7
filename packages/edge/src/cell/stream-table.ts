import type { VivError } from '@vivarium/protocol';
import { FRAME, violation } from './frame.ts';
import type { CellStream, Link } from './link.ts';
import type { RetainedState } from './retained-state.ts';

/** Where streams come from that the host did not open. */
export type StreamSource = {
  /** A retained stream that the first connection finds; the returned stream takes its frames. */
  adopt: (state: RetainedState) => CellStream;
  /** A connection came in on a listener. */
  opened: (listener: CellStream, stream: number) => void;
};

/** 4,096 by protocol, and as many again that are ending. */
const STREAMS_MAX = 8_192;
const STREAM_ID_MAX = 0xffff_fffd;

/** The open streams of a session by id, and what may still come for those that are over. The host's ids are odd. */
export class StreamTable {
  readonly #link: Link;
  readonly #source: StreamSource;
  readonly #streams = new Map<number, CellStream>();
  #nextId = 1;
  #lastEven = 0;
  #lateBytes = 0;

  constructor(link: Link, source: StreamSource) {
    this.#link = link;
    this.#source = source;
  }

  /** Gives a new stream its id. */
  add(stream: CellStream): number {
    while (this.#streams.has(this.#nextId)) this.#nextId = nextId(this.#nextId);
    const id = this.#nextId;
    this.#nextId = nextId(id);
    this.#streams.set(id, stream);
    return id;
  }

  place(id: number, stream: CellStream): void {
    this.#streams.set(id, stream);
  }

  forget(id: number, lateBytes: number): void {
    if (this.#streams.delete(id)) this.#lateBytes += lateBytes;
  }

  frame(type: number, chan: number, id: number, payload: Buffer): void {
    if (type === FRAME.OPENED) return this.#opened(id, payload.readUInt32LE(0));
    const stream = this.#streams.get(id);
    if (stream) stream.frame(type, chan, payload);
    else this.#late(id, 0);
  }

  data(chan: number, id: number, offset: number, piece: Buffer): void {
    const stream = this.#streams.get(id);
    if (stream) stream.data(chan, offset, piece);
    else this.#late(id, piece.length);
  }

  /** A connection is up: both sides agree again on what exists. */
  reconcile(states: RetainedState[], first: boolean): void {
    this.#lateBytes = 0;
    this.#lastEven = 0;
    const known = new Set<number>();
    for (const state of states) {
      if (state.stream % 2 === 0 || known.has(state.stream)) throw violation(`STATE of stream ${state.stream}`);
      known.add(state.stream);
      if (state.stream >= this.#nextId) this.#nextId = nextId(state.stream);
      const stream = this.#streams.get(state.stream);
      if (stream) stream.reconnected(state);
      else if (first) this.#streams.set(state.stream, this.#source.adopt(state));
      else this.#link.sendShort(endsIt(state), state.stream);
    }
    for (const [id, stream] of [...this.#streams]) {
      if (!known.has(id)) stream.reconnected(null);
    }
  }

  disconnected(error: VivError): void {
    for (const [id, stream] of [...this.#streams]) {
      if (!stream.disconnected(error)) this.#streams.delete(id);
    }
  }

  lost(error: VivError): void {
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of streams) stream.lost(error);
  }

  #opened(id: number, listener: number): void {
    if (id % 2 !== 0 || this.#streams.has(id)) throw violation(`OPENED on stream ${id}`);
    if (this.#streams.size >= STREAMS_MAX) throw violation('too many open streams');
    if (id > this.#lastEven) this.#lastEven = id;
    const stream = this.#streams.get(listener);
    if (stream) this.#source.opened(stream, id);
    else if (this.#isPast(listener)) this.#link.sendShort(FRAME.CANCEL, id);
    else throw violation(`OPENED by listener ${listener}`);
  }

  /** A frame on a stream that is over: fine while it can have been on its way. */
  #late(id: number, bytes: number): void {
    if (!this.#isPast(id)) throw violation(`a frame on stream ${id}, which was never opened`);
    this.#lateBytes -= bytes;
    if (this.#lateBytes < 0) throw violation(`data on stream ${id}, which is over`);
  }

  #isPast(id: number): boolean {
    return id % 2 === 0 ? id <= this.#lastEven : id < this.#nextId;
  }
}

function nextId(id: number): number {
  return id >= STREAM_ID_MAX ? 1 : id + 2;
}

/** What ends a retained stream that nobody here knows any more. */
function endsIt(state: RetainedState): number {
  return state.kind === 'listener' || state.phase === 'exited' ? FRAME.RELEASE : FRAME.CANCEL;
}
