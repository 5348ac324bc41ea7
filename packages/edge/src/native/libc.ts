import { constants } from 'node:os';
import { VivError } from '@vivarium/protocol';
import koffi from 'koffi';

/**
 * The C library by koffi, synchronous, on the calling thread. Only processes that may block load this (the spawner,
 * small helper scripts), never the server.
 */
export const libc = koffi.load('libc.so.6');

/**
 * Wraps a C function so that -1 becomes a VivError `internal` with `details.errno` (a name such as `ENOENT`) and
 * `details.syscall`. `describe` says what was tried, for the message.
 */
export function checked<A extends unknown[]>(
  name: string,
  prototype: (...args: never[]) => unknown,
  describe: (...args: A) => string,
): (...args: A) => number {
  return (...args) => {
    const result = Number((prototype as (...args: A) => unknown)(...args));
    if (result === -1) throw systemError(name, describe(...args), koffi.errno());
    return result;
  };
}

/** The name of an error number (`ENOENT` for 2), or `errno N`. */
export function errnoName(errno: number): string {
  return names.get(errno) ?? `errno ${errno}`;
}

/** The errno name that a failed call left in a VivError of `checked`, or of a failed node:fs call; else undefined. */
export function errnoOf(error: unknown): string | undefined {
  if (error instanceof VivError) return typeof error.details.errno === 'string' ? error.details.errno : undefined;
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** A failed system call as a VivError. */
export function systemError(syscall: string, what: string, errno: number): VivError {
  const name = errnoName(errno);
  return new VivError('internal', `${syscall} ${what}: ${name}`, { details: { errno: name, syscall } });
}

/** Error numbers of Linux that node:os does not list (asm-generic/errno-base.h, errno.h). */
const UNLISTED = { ENOTBLK: 15, ENOTUNIQ: 76, EUCLEAN: 117, ENOMEDIUM: 123 };

const names = new Map<number, string>(
  Object.entries({ ...constants.errno, ...UNLISTED }).map(([name, value]) => [value, name]),
);

/** System call numbers of x86-64 that the C library has no wrapper for everywhere (asm/unistd_64.h). */
export const SYS = {
  setresuid: 117,
  openTree: 428,
  moveMount: 429,
  pidfdOpen: 434,
  mountSetattr: 442,
} as const;
