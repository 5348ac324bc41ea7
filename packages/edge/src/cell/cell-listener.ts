import type { Duplex } from 'node:stream';

export type ListenOptions = {
  /** Textual address inside; default 127.0.0.1. */
  host?: string | undefined;
  backlog?: number | undefined;
  maxConnections?: number | undefined;
  /** Mode of a unix socket. */
  mode?: number | undefined;
  /** Bytes a connection may send before they are read. */
  window?: number | undefined;
  /** At most 64 bytes, returned in `retainedListeners()`. */
  tag?: Uint8Array | undefined;
};

/** A listener inside the sandbox; it outlives reconnects, its connections do not. */
export interface CellListener {
  /** The TCP port (also when 0 was asked for); 0 for unix. */
  readonly port: number;
  readonly tag: Uint8Array;
  /** Connections that come before the first callback is set wait for it, 64 at most; more are refused. */
  onConnection(callback: (connection: Duplex) => void): void;
  /** Stops listening; open connections live on. */
  close(): void;
}

/** A listener that an earlier connection left. */
export type RetainedListener = { readonly stream: number; readonly tag: Uint8Array };
