import type { Duplex } from 'node:stream';
import type { Edge, Owner } from '@vivarium/edge/edge.ts';
import type { Key, VivError, WinSize } from '@vivarium/protocol';
import type { Outbox } from './outbox.ts';

/** One operation on a connection. Every method is called by the connection only. */
export interface Channel {
  /** May throw ProtocolViolation. */
  data(sub: number, chunk: Buffer): void;
  eof(sub: number): void;
  window(sub: number, limit: number): void;
  signal(signal: number | string, scope: 'process' | 'group' | 'tree'): void;
  resize(size: WinSize): void;
  /** The client closed it or is gone: gives everything back. Idempotent; nothing is sent after it. */
  close(): void;
}

/** The connection, as its channels see it. */
export type Wire = {
  readonly edge: Edge;
  readonly key: Key;
  readonly owner: Owner;
  readonly outbox: Outbox;
  opened(ch: number, result: unknown): void;
  event(ch: number, event: Record<string, unknown>): void;
  eof(ch: number, sub: number): void;
  window(ch: number, sub: number, limit: number): void;
  /** Input that waits in memory; too much of it in all channels together ends the connection. */
  held(bytes: number): void;
  /** Ends a channel from this side. */
  finish(ch: number, error?: unknown): void;
  /** Opens a channel of the server's own for a connection that came out of a sandbox, and tells the listener's channel. */
  adopt(listener: number, stream: Duplex): void;
  failed(error: unknown): VivError;
};
