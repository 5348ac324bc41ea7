import type { Duplex, Readable } from 'node:stream';
import type { ProcessInfo, VivError } from '@vivarium/protocol';
import type { GuestConfig } from '../drivers/driver.ts';
import type { CellWatchEvent, FileOptions, FileRead, FileSystemStats, FileWriteOptions } from './cell-files.ts';
import type { CellListener, ListenOptions, RetainedListener } from './cell-listener.ts';
import type { CellProcess, ProcessHandlers, RetainedProcess, SpawnRequest } from './cell-process.ts';
import type { CellEntry } from './entry.ts';

export type CellOptions = {
  /** A fresh connection each time; rejects with `sandbox_lost` when PID 1 is gone. */
  connect: () => Promise<Duplex>;
  /** Sent once per boot of the guest. */
  config: GuestConfig;
  /** Called once; everything pending has been rejected by then and no handler of a process is called any more. */
  onLost: (error: VivError) => void;
  /** Called before `open` resolves, with what an earlier connection left (if anything). */
  onRetained?: (retained: RetainedProcess[]) => void;
};

/** The host's end of the guest protocol (docs/guest-protocol.md): one sandbox, one byte stream. */
export class Cell {
  readonly bootNonce: Uint8Array = new Uint8Array(16);
  readonly stats = { bytesUp: 0, bytesDown: 0, reconnects: 0, protocolErrors: 0 };

  static async open(_options: CellOptions): Promise<Cell> {
    return pending();
  }

  /** Resolves when the child exists and waits for `start()`. */
  async spawn(_request: SpawnRequest): Promise<CellProcess> {
    return pending();
  }
  /** Processes that an earlier connection left and nobody has resumed yet. */
  retained(): RetainedProcess[] {
    return pending();
  }
  /** Takes over a retained process; `out1`, `out2`: what the caller has kept, `in`: where its stdin goes on. */
  resumeProcess(
    _r: RetainedProcess,
    _resume: { out1: number; out2: number; in: number; window?: number },
    _h: ProcessHandlers,
  ): CellProcess {
    return pending();
  }
  retainedListeners(): RetainedListener[] {
    return pending();
  }
  resumeListener(_retained: RetainedListener): CellListener {
    return pending();
  }

  async connectTcp(_port: number, _host?: string): Promise<Duplex> {
    return pending();
  }
  async connectUnix(_path: Uint8Array): Promise<Duplex> {
    return pending();
  }
  async listenTcp(_port: number, _options?: ListenOptions): Promise<CellListener> {
    return pending();
  }
  async listenUnix(_path: Uint8Array, _options?: ListenOptions): Promise<CellListener> {
    return pending();
  }

  async stat(_path: Uint8Array, _options?: FileOptions & { follow?: boolean }): Promise<CellEntry> {
    return pending();
  }
  /** Parents before children; depth 1 = direct children, 0 = unlimited. Leaving the loop ends it in the guest. */
  list(_path: Uint8Array, _options?: FileOptions & { depth?: number; self?: boolean }): AsyncIterable<CellEntry> {
    return pending();
  }
  async read(_path: Uint8Array, _options?: FileOptions & { offset?: number; length?: number }): Promise<FileRead> {
    return pending();
  }
  async write(
    _path: Uint8Array,
    _body: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | Readable,
    _options?: FileWriteOptions,
  ): Promise<CellEntry> {
    return pending();
  }
  async mkdir(
    _path: Uint8Array,
    _options?: FileOptions & { mode?: number; parents?: boolean; exclusive?: boolean },
  ): Promise<CellEntry> {
    return pending();
  }
  async rename(
    _from: Uint8Array,
    _to: Uint8Array,
    _options?: FileOptions & { parents?: boolean; noReplace?: boolean },
  ): Promise<CellEntry> {
    return pending();
  }
  async remove(
    _path: Uint8Array,
    _options?: FileOptions & { recursive?: boolean; missingOk?: boolean },
  ): Promise<{ removed: number }> {
    return pending();
  }
  async chmod(_path: Uint8Array, _mode: number, _options?: FileOptions & { recursive?: boolean }): Promise<void> {
    return pending();
  }
  async chown(
    _path: Uint8Array,
    _owner: string | { uid: number; gid: number },
    _options?: FileOptions & { recursive?: boolean },
  ): Promise<void> {
    return pending();
  }
  async symlink(_path: Uint8Array, _target: Uint8Array, _options?: FileOptions & { parents?: boolean }): Promise<void> {
    return pending();
  }
  async link(_path: Uint8Array, _existing: Uint8Array, _options?: FileOptions): Promise<void> {
    return pending();
  }
  async utimes(_path: Uint8Array, _mtimeNs: bigint, _options?: FileOptions): Promise<void> {
    return pending();
  }
  async truncate(_path: Uint8Array, _length: number, _options?: FileOptions): Promise<void> {
    return pending();
  }
  async statfs(_path: Uint8Array, _options?: FileOptions): Promise<FileSystemStats> {
    return pending();
  }
  /** Armed when it resolves; ends with the signal or the loop. */
  async watch(
    _path: Uint8Array,
    _options?: FileOptions & { recursive?: boolean },
  ): Promise<AsyncIterable<CellWatchEvent>> {
    return pending();
  }

  async processes(): Promise<ProcessInfo[]> {
    return pending();
  }
  async ping(): Promise<void> {
    return pending();
  }
  async syncClock(_unixNs: bigint): Promise<void> {
    return pending();
  }
  async reseed(_random: Uint8Array): Promise<void> {
    return pending();
  }
  /** SIGTERM to all, SIGKILL after graceMs, then PID 1 exits; does not wait for it. */
  async shutdown(_graceMs: number): Promise<void> {
    return pending();
  }
  /** Frozen or about to be: waits are not counted while it holds. */
  setPaused(_paused: boolean): void {
    pending();
  }
  /** Drops the connection; the guest and its processes live on. onLost is not called. */
  close(): void {
    pending();
  }
}

function pending(): never {
  throw new Error('not there yet');
}
