import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Image, Progress } from '@vivarium/protocol';
import { type ImageStoreOptions, openImageStore } from '../image-store.ts';
import { mountPoints } from '../mountinfo.ts';
import type { ImageStore } from '../store.ts';
import { testMounter, umount } from './mount.ts';

export type Place = {
  directory: string;
  stateDir: string;
  runDir: string;
  mounter: ReturnType<typeof testMounter>;
  open(options?: Partial<ImageStoreOptions>): Promise<ImageStore>;
  /** A new empty directory. */
  make(name: string): string;
};

/** A state and run directory that end with the test, mounts first. */
export function place(context: TestContext): Place {
  const directory = mkdtempSync(join(tmpdir(), 'viv-layers-'));
  const stateDir = join(directory, 'state');
  const runDir = join(directory, 'run');
  const mounter = testMounter();
  context.after(() => {
    for (const type of ['overlay', 'erofs', 'tmpfs']) {
      for (const point of mountPoints(type)) if (point.startsWith(`${directory}/`)) umount(point);
    }
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    directory,
    stateDir,
    runDir,
    mounter,
    open: (options) => openImageStore({ stateDir, runDir, mounter, inUse: () => false, log: () => {}, ...options }),
    make(name) {
      const path = join(directory, name);
      mkdirSync(path, { recursive: true });
      return path;
    },
  };
}

/** Runs an import to its end and returns the image and the lines before it. */
export async function finish(progress: AsyncIterable<Progress>): Promise<{ image: Image; lines: string[] }> {
  const lines: string[] = [];
  for await (const line of progress) {
    if (line.type === 'done') return { image: line.image, lines };
    if (line.type === 'progress') lines.push(`${line.stage}: ${line.message}`);
  }
  throw new Error('the import ended without an image');
}

export const never = () => new AbortController().signal;
