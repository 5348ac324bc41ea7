import { execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import koffi from 'koffi';
import type { Mounter } from '../layer-mounts.ts';

const libc = koffi.load('libc.so.6');
const mount2 = libc.func(
  'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
);
const umount2 = libc.func('int umount2(const char *target, int flags)');
const mountAsync = promisify(mount2.async) as (...args: unknown[]) => Promise<number>;

const MS_RDONLY = 1;
const MS_NODEV = 4;
const MNT_DETACH = 2;

/** A mounter for tests, which counts what it does. File-backed where the kernel can, else by a loop device. */
export function testMounter(): Mounter & { mounts: number; umounts: number } {
  return {
    mounts: 0,
    umounts: 0,
    async mountErofs(file, directory) {
      this.mounts++;
      if ((await mountAsync(file, directory, 'erofs', MS_RDONLY | MS_NODEV, null)) === 0) return;
      execFileSync('mount', ['-t', 'erofs', '-o', 'ro,loop,nodev', file, directory], { stdio: 'pipe' });
    },
    async umount(directory) {
      this.umounts++;
      umount(directory);
    },
  };
}

/** Mounts an overlay. Lowest layer first, as everywhere here; the kernel wants it last. */
export function mountOverlay(lowers: string[], target: string, writable?: { upper: string; work: string }): void {
  const options = [`lowerdir=${[...lowers].reverse().join(':')}`, 'redirect_dir=off'];
  if (writable) options.push(`upperdir=${writable.upper}`, `workdir=${writable.work}`);
  if (mount2('overlay', target, 'overlay', writable ? 0 : MS_RDONLY, options.join(',')) !== 0) {
    throw new Error(`overlay: errno ${koffi.errno()}`);
  }
}

export function mountTmpfs(target: string, sizeKiB: number): void {
  if (mount2('tmpfs', target, 'tmpfs', 0, `size=${sizeKiB}k`) !== 0) throw new Error(`tmpfs: errno ${koffi.errno()}`);
}

export function umount(target: string): void {
  if (umount2(target, MNT_DETACH) !== 0) throw new Error(`umount ${target}: errno ${koffi.errno()}`);
}
