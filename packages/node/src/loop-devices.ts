import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const WAIT_MS = 10_000;
const STEP_MS = 50;

/** Loop devices whose backing file is `file` (or was: the kernel appends " (deleted)"), as /dev/loopN. */
export function loopDevicesOf(file: string): string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop') && backingFile(name)?.replace(/ \(deleted\)$/, '') === file)
    .map((name) => `/dev/${name}`);
}

/**
 * Gives back the devices of the scratch file once its last mount is gone, which takes a moment after the namespace's last
 * process: a device that detaches with its last mount is gone by itself then (losetup(8)). False when one stays.
 */
export async function detachLoopDevices(file: string): Promise<boolean> {
  for (let waited = 0; ; waited += STEP_MS) {
    const devices = loopDevicesOf(file);
    if (devices.length === 0) return true;
    if (waited >= WAIT_MS) return false;
    for (const device of devices) spawnSync('losetup', ['--detach', device], { stdio: 'ignore' });
    await delay(STEP_MS);
  }
}

/** sysfs: /sys/block/loopN/loop/backing_file, there only while the device is bound. */
function backingFile(name: string): string | undefined {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim();
  } catch {
    return undefined;
  }
}
