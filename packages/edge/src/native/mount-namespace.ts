import { closeSync, openSync } from 'node:fs';
import { checked, libc } from './libc.ts';

const CLONE_FS = 0x200;
const CLONE_NEWNS = 0x20000;

const unshareCall = checked<[number]>('unshare', libc.func('unshare', 'int', ['int']), () => 'CLONE_FS');
const setnsCall = checked<[number, number]>('setns', libc.func('setns', 'int', ['int', 'int']), (fd) => `fd ${fd}`);
let ownsItsRoot = false;

/**
 * Does something synchronous in the mount namespace of another process (setns(2)): paths are those it sees. Only this thread is there,
 * and only meanwhile; its root and working directory must be its own (unshare(2) with CLONE_FS), which does no harm to the other
 * threads. A process that could not come back would be in the hands of that namespace, so it ends.
 */
export function inMountNamespace<T>(pid: number, action: () => T): T {
  if (!ownsItsRoot) unshareCall(CLONE_FS);
  ownsItsRoot = true;
  const own = openSync('/proc/thread-self/ns/mnt', 'r');
  try {
    const theirs = openSync(`/proc/${pid}/ns/mnt`, 'r');
    try {
      setnsCall(theirs, CLONE_NEWNS);
    } finally {
      closeSync(theirs);
    }
    try {
      return action();
    } finally {
      comeBack(own);
    }
  } finally {
    closeSync(own);
  }
}

function comeBack(own: number): void {
  try {
    setnsCall(own, CLONE_NEWNS);
  } catch {
    process.abort();
  }
}
