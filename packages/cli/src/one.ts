import type { Sandbox, Vivarium } from '@vivarium/sdk';
import { type ConnectionOptions, connect } from './connection.ts';
import { findSandbox } from './sandbox-name.ts';

/** Finds the sandbox, does something with it, closes the connection. */
export async function withSandbox<T>(
  word: string,
  flags: ConnectionOptions,
  act: (sandbox: Sandbox, viv: Vivarium) => Promise<T>,
): Promise<T> {
  return withServer(flags, async (viv) => act(await findSandbox(viv, word), viv));
}

export async function withServer<T>(flags: ConnectionOptions, act: (viv: Vivarium) => Promise<T>): Promise<T> {
  const viv = connect(flags);
  try {
    return await act(viv);
  } finally {
    viv.close();
  }
}

/** Ctrl-C ends a stream that would go on for ever, without an error. */
export function untilInterrupted(): AbortSignal {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  return stop.signal;
}
