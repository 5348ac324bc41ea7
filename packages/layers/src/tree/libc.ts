import koffi from 'koffi';

/** The C library, on the calling thread: only processes that may block load this, never the server. */
export const libc = koffi.load('libc.so.6');

/** Why the call just failed, with a code as errors of node:fs have it. */
export function systemError(call: string, path: Buffer): Error {
  const errno = koffi.errno();
  const code = Object.entries(koffi.os.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
  return Object.assign(new Error(`${code}: ${call} ${path.toString('latin1')}`), { code });
}

/** A path as C has it. */
export function terminated(path: Buffer): Buffer {
  return Buffer.concat([path, Buffer.from([0])]);
}
