import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Loop devices whose backing file is `file` (or was: the kernel appends " (deleted)"), as /dev/loopN. */
export function loopDevicesOf(file: string): string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop') && backingFile(name)?.replace(/ \(deleted\)$/, '') === file)
    .map((name) => `/dev/${name}`);
}

/** Gives back the devices of the scratch file. One that is still mounted somewhere detaches with its last mount (losetup(8)). */
export function detachLoopDevices(file: string): void {
  for (const device of loopDevicesOf(file)) execFileSync('losetup', ['--detach', device], { stdio: 'ignore' });
}

/** sysfs: /sys/block/loopN/loop/backing_file, there only while the device is bound. */
function backingFile(name: string): string | undefined {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim();
  } catch {
    return undefined;
  }
}
