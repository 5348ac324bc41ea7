import { checked, errnoName, errnoOf, libc, systemError } from './libc.ts';

const POSIX_SPAWN_SETSIGDEF = 0x04;
const POSIX_SPAWN_SETSIGMASK = 0x08;
const WNOHANG = 1;
const WALL = 0x40000000;
/** Sizes of the opaque types of spawn.h and signal.h in glibc on x86-64. */
const SIZE = { attributes: 336, actions: 80, signalSet: 128 };

const spawnCall = libc.func('posix_spawn', 'int', ['_Out_ int *', 'str', 'void *', 'void *', 'str *', 'str *']);
const actionsInit = libc.func('posix_spawn_file_actions_init', 'int', ['void *']);
const actionsDestroy = libc.func('posix_spawn_file_actions_destroy', 'int', ['void *']);
const actionsDup2 = libc.func('posix_spawn_file_actions_adddup2', 'int', ['void *', 'int', 'int']);
const attributesInit = libc.func('posix_spawnattr_init', 'int', ['void *']);
const attributesFlags = libc.func('posix_spawnattr_setflags', 'int', ['void *', 'short']);
const attributesMask = libc.func('posix_spawnattr_setsigmask', 'int', ['void *', 'void *']);
const attributesDefault = libc.func('posix_spawnattr_setsigdefault', 'int', ['void *', 'void *']);
const killCall = checked<[number, number]>('kill', libc.func('kill', 'int', ['int', 'int']), (pid) => `${pid}`);
const waitCall = checked<[number, Buffer | null, number]>(
  'waitpid',
  libc.func('waitpid', 'int', ['int', 'void *', 'int']),
  (pid) => `${pid}`,
);

/**
 * Starts a program with default signals and only the given descriptors, in our session: `descriptors[i]`
 * becomes descriptor i. posix_spawn(3) shares our memory until the exec, so the cost does not grow with this process
 * (Node's own spawn copies page tables). The caller waits for the child with `waitNow`.
 */
export function spawnProcess(path: string, argv: string[], env: string[], descriptors: number[]): number {
  const actions = Buffer.alloc(SIZE.actions);
  actionsInit(actions);
  try {
    for (const [target, fd] of descriptors.entries()) actionsDup2(actions, fd, target);
    const pid = [0];
    const errno = spawnCall(pid, path, actions, spawnAttributes, [...argv, null], [...env, null]);
    if (errno !== 0) throw systemError('posix_spawn', path, errno);
    return pid[0]!;
  } finally {
    actionsDestroy(actions);
  }
}

/** The wait status if the child has ended (and reaps it), else undefined. waitpid(2) with WNOHANG. */
export function waitNow(pid: number): { exitCode: number | null; signal: number | null } | undefined {
  const status = Buffer.alloc(4);
  if (waitCall(pid, status, WNOHANG) === 0) return undefined;
  return decodeWaitStatus(status.readUInt32LE(0));
}

/** Waits until a child of any sort (clone(2) without exit signal too) is gone. Only for children that were killed. */
export function waitGone(pid: number): void {
  for (;;) {
    try {
      waitCall(pid, null, WALL);
      return;
    } catch (error) {
      if (errnoOf(error) !== errnoName(4)) return;
    }
  }
}

/** kill(2). Throws with `details.errno` `ESRCH` when there is no such process. */
export function kill(pid: number, signal: number): void {
  killCall(pid, signal);
}

/** WIFEXITED, WEXITSTATUS and WTERMSIG of sys/wait.h. */
export function decodeWaitStatus(status: number): { exitCode: number | null; signal: number | null } {
  const signal = status & 0x7f;
  return signal === 0 ? { exitCode: (status >> 8) & 0xff, signal: null } : { exitCode: null, signal };
}

const spawnAttributes = makeSpawnAttributes();

function makeSpawnAttributes(): Buffer {
  const attributes = Buffer.alloc(SIZE.attributes);
  attributesInit(attributes);
  attributesFlags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  attributesMask(attributes, Buffer.alloc(SIZE.signalSet));
  attributesDefault(attributes, Buffer.alloc(SIZE.signalSet, 0xff));
  return attributes;
}
