import { closeSync, cpSync, lutimesSync, mkdirSync, openSync, readSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { ImageConfig, VivError } from '@vivarium/protocol';
import type { Source } from '../builder.ts';
import { runTool } from '../tool.ts';

const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'];
const BASH = ['/bin/bash-static', '/usr/bin/bash-static'];
const APPLET = /^[a-z0-9[\]][a-z0-9[\]_.-]*$/i;
/** elf(5): the segment that names the loader a dynamic program needs. */
const PT_INTERP = 3;

/**
 * The tools of a grader that works inside the agent's own sandbox: static programs, the host's busybox under the names of all it can do,
 * and bash. They need no loader, no library and no file of the sandbox they are mounted in.
 */
export function builtinGraderTools(): { source: Source; config: ImageConfig } {
  const source: Source = {
    createdBy: 'builtin:grader-tools',
    impliedDirectories: false,
    fill: async (root, _scratch, _report, signal) =>
      fill(root, findStatic(BUSYBOX, 'busybox-static'), findStatic(BASH, 'bash-static'), signal),
  };
  return { source, config: ImageConfig.parse({}) };
}

async function fill(root: string, busybox: string, bash: string, signal: AbortSignal): Promise<void> {
  let list = '';
  const collect = (chunk: Buffer) => {
    list += chunk.toString('latin1');
  };
  await runTool(busybox, ['--list'], { signal, package: 'busybox-static', onStdout: collect });
  const bin = join(root, 'bin');
  mkdirSync(bin, { mode: 0o755 });
  for (const [program, name] of [
    [busybox, 'busybox'],
    [bash, 'bash'],
  ] as const) {
    cpSync(program, join(bin, name));
    utimesSync(join(bin, name), 0, 0);
  }
  for (const applet of list.split('\n').filter((name) => APPLET.test(name) && name !== 'busybox' && name !== 'bash')) {
    symlinkSync('busybox', join(bin, applet));
    lutimesSync(join(bin, applet), 0, 0);
  }
  for (const directory of [bin, root]) utimesSync(directory, 0, 0);
}

function findStatic(paths: readonly string[], debianPackage: string): string {
  const found = paths.find((path) => isStatic(path));
  if (found !== undefined) return found;
  throw new VivError('precondition_failed', `none of ${paths.join(', ')} is a static program`, {
    hint: `Install the Debian package ${debianPackage} on the node.`,
  });
}

/** Is it a 64-bit ELF program that no loader has to start? */
export function isStatic(path: string): boolean {
  const head = Buffer.alloc(4096);
  try {
    const fd = openSync(path, 'r');
    try {
      if (readSync(fd, head) < 64) return false;
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
  if (head.readUInt32BE(0) !== 0x7f454c46 || head[4] !== 2) return false;
  const [start, size, count] = [Number(head.readBigUInt64LE(32)), head.readUInt16LE(54), head.readUInt16LE(56)];
  if (size < 56 || start + size * count > head.length) return false;
  return Array.from({ length: count }, (_, i) => head.readUInt32LE(start + i * size)).every(
    (type) => type !== PT_INTERP,
  );
}
