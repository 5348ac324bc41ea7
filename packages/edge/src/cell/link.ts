import type { VivError } from '@vivarium/protocol';
import type { Outflow } from './outflow.ts';
import type { RetainedState } from './retained-state.ts';

/** What streams see of their session: a way to send. Without a connection every send is dropped (it will be made up for, or fails). */
export interface Link {
  send(frame: Buffer): void;
  /** A frame with a short fixed payload. */
  sendShort(type: number, stream: number, ...words: number[]): void;
  sendWindow(chan: number, stream: number, acked: number, limit: number): void;
  sendEof(stream: number, final: number): void;
  sendData(stream: number, offset: number, bytes: Uint8Array): void;
  /** No DATA may be sent now; `outflow.pump` is called when that changes. */
  blocked(outflow: Outflow): boolean;
  /** The stream is over: frames that are still on their way are ignored, `lateBytes` of DATA at most. */
  forget(stream: number, lateBytes: number): void;
}

/** One stream of the session; called with frames that have passed checkHeader. Throws a violation for what it does not expect. */
export interface CellStream {
  frame(type: number, chan: number, payload: Buffer): void;
  data(chan: number, offset: number, piece: Buffer): void;
  /** The connection is gone. Returns whether the stream waits for the next one; else it has ended itself with the error. */
  disconnected(error: VivError): boolean;
  /** The next connection is up. null: the guest does not know the stream. Only called after disconnected returned true. */
  reconnected(state: RetainedState | null): void;
  /** The guest is gone, or the session is closed. */
  lost(error: VivError): void;
}
