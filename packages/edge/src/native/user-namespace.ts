import { openSync, writeFileSync } from 'node:fs';
import koffi from 'koffi';
import { checked, libc, SYS } from './libc.ts';
import { kill, waitGone } from './process.ts';

const CLONE_VM = 0x100;
const CLONE_NEWUSER = 0x10000000;
const SIGKILL = 9;
const PR_GET_SECUREBITS = 27;
const PR_SET_SECUREBITS = 28;
const SECBIT_NO_SETUID_FIXUP = 4;
/** As an id in setresuid(2). */
const UNCHANGED = -1;
/** Should we be killed before we kill it, it ends by itself. */
const LIFE_S = 5;
const STACK_BYTES = 64 * 1024;

const cloneCall = checked<[unknown, bigint, number, number]>(
  'clone',
  libc.func('clone', 'int', ['void *', 'uint64_t', 'int', 'ulong']),
  () => 'a user namespace',
);
/** The kernel's own call: that of the C library changes all threads. */
const setresuidCall = checked<[number, number, number, number]>(
  'setresuid',
  libc.func('syscall', 'long', ['long', 'int', 'int', 'int']),
  (_nr, _real, effective) => `${effective}`,
);
const prctlCall = checked<[number, number]>('prctl', libc.func('prctl', 'int', ['int', 'ulong']), () => 'securebits');
const sleep = libc.symbol('sleep') as bigint;
const stack = koffi.alloc('uint8_t', STACK_BYTES);

/**
 * Opens a user namespace in which ids 0 … count-1 are base … base+count-1 of ours. The caller closes the descriptor;
 * an idmapped mount keeps the map alive by itself.
 *
 * A user namespace needs a process to be born in. The cheapest one is a task that shares our memory and sits in
 * sleep(3) on a stack of its own until the maps are written: no copy of page tables, about 0.1 ms (clone(2),
 * user_namespaces(7)). It has no exit signal, so nothing else in this process sees it end.
 *
 * The namespace belongs to `base`, not to root: what its processes hold of the limits that the kernel counts by user
 * (pending signals and timers, message queues, inotify, namespaces) counts against the owner too, and were that root,
 * one sandbox could take what all others and the host have.
 */
export function openUserNamespace(base: number, count: number): number {
  const top = (BigInt(koffi.address(stack)) + BigInt(STACK_BYTES)) & ~15n;
  const pid = asOwner(base, () => cloneCall(sleep, top, CLONE_VM | CLONE_NEWUSER, LIFE_S));
  try {
    writeFileSync(`/proc/${pid}/uid_map`, `0 ${base} ${count}\n`);
    writeFileSync(`/proc/${pid}/gid_map`, `0 ${base} ${count}\n`);
    return openSync(`/proc/${pid}/ns/user`, 'r');
  } finally {
    kill(pid, SIGKILL);
    waitGone(pid);
  }
}

/** Runs `action` with another effective user and the same capabilities, on this thread only (capabilities(7), NO_SETUID_FIXUP). */
function asOwner<T>(uid: number, action: () => T): T {
  const bits = prctlCall(PR_GET_SECUREBITS, 0);
  prctlCall(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP);
  try {
    setresuidCall(SYS.setresuid, UNCHANGED, uid, UNCHANGED);
    try {
      return action();
    } finally {
      setresuidCall(SYS.setresuid, UNCHANGED, 0, UNCHANGED);
    }
  } finally {
    prctlCall(PR_SET_SECUREBITS, bits);
  }
}
