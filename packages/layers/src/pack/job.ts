import { dirname } from 'node:path';
import type { PackFinding, PackLeftOut } from '@vivarium/protocol/pack.ts';
import { type Written, writeImage } from '../erofs/image-file.ts';
import { requireFree } from '../free-space.ts';
import { imageTree, SPLIT, WHOLE } from './change-tree.ts';
import { TreeTooLarge, walkChanges } from './walk.ts';

/** One pack as the worker process gets it: plain JSON. */
export type PackJob = {
  upper: string;
  /** Where the layers below are mounted, lowest first. */
  layers: readonly string[];
  idShift: number;
  scrub: boolean;
  keep: readonly string[];
  exclude: readonly string[];
  /** Protected paths of a second image; null: there is none. */
  protect: readonly string[] | null;
  restore: readonly string[];
  closed: readonly string[];
  except: readonly string[];
  programs: readonly string[];
  only: readonly string[] | null;
  /** Later file times are set to this, in milliseconds since the epoch; null: times are kept. */
  clampMs: number | null;
  /** Where the layers are written: two file names, made anew. */
  files: readonly [string, string];
  /** Free bytes that must be left. */
  reserveBytes: number;
  maxBytes: number;
  maxEntries: number;
  maxDepth: number;
};

/** `null`: nothing differs from the layers below. */
export type PackOutcome = {
  whole: Written | null;
  split: Written | 'same' | null;
  changed: { added: number; changed: number; deleted: number; bytes: number };
  removed: PackFinding[];
  excluded: PackFinding[];
  suspicious: PackFinding[];
  leftOut: PackLeftOut[];
  leftOutEntries: number;
};

/** Does one pack. Blocks. Throws TreeTooLarge past a bound, errors of the file system as they are (ENOSPC: no room for the layer). */
export function runJob(job: PackJob): PackOutcome {
  const { clampMs, protect } = job;
  const walked = walkChanges({
    ...job,
    protect: protect ?? [],
    clampNs: clampMs === null ? null : BigInt(Math.round(clampMs)) * 1_000_000n,
  });
  try {
    const write = (image: number, file: string) => {
      const tree = imageTree(walked.root, image);
      return tree && writeImage(tree, file, (bytes) => admit(bytes, job));
    };
    const { changed, leftOut, leftOutEntries, verdicts } = walked;
    return {
      whole: write(WHOLE, job.files[0]),
      split: leftOutEntries === 0 || protect === null ? 'same' : write(SPLIT, job.files[1]),
      changed,
      removed: verdicts.removed,
      excluded: verdicts.excluded.findings(),
      suspicious: verdicts.suspicious.findings(),
      leftOut,
      leftOutEntries,
    };
  } finally {
    walked.close();
  }
}

function admit(bytes: number, { maxBytes, files, reserveBytes }: PackJob): void {
  if (bytes > maxBytes) throw new TreeTooLarge(`${bytes} bytes, at most ${maxBytes} are allowed`);
  requireFree(dirname(files[0]), bytes + reserveBytes, 'for the layer');
}
