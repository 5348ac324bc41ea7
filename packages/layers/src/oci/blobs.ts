import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { type FileRange, RangeReader } from './file-range.ts';
import { Refusal } from './refusal.ts';
import { readMembers } from './tar/members.ts';

/** The files of an OCI layout or a docker-save archive, wherever they lie. */
export interface ImageFiles {
  /** Undefined: there is none of that name. */
  find(name: string): FileRange | undefined;
}

/** More is no archive of images. */
const MEMBERS_MAX = 20_000;
const LINKS_MAX = 8;

/** Where the files of an archive lie in it: plain JSON. */
export type ArchiveListing = { files: [name: string, range: FileRange][]; links: [name: string, target: string][] };

/** Reads the headers of an archive. Blocks: for worker processes. Throws Refusal. */
export function listArchive(path: string): ArchiveListing {
  const files = new Map<string, FileRange>();
  const links = new Map<string, string>();
  const reader = new RangeReader({ path, offset: 0, size: statSync(path).size });
  let members = 0;
  try {
    for (const { name: bytes, type, size, segments, link } of readMembers(reader)) {
      if (++members > MEMBERS_MAX)
        throw new Refusal(
          'invalid_image',
          `the archive has more than ${MEMBERS_MAX} entries: it is no OCI layout and no docker-save archive`,
        );
      const name = cleaned(bytes.toString('utf8'));
      links.delete(name);
      files.delete(name);
      if (type === '2') links.set(name, cleaned(posix.join(posix.dirname(name), link.toString('utf8'))));
      else if (type === '1') links.set(name, cleaned(link.toString('utf8')));
      else if (type === '0')
        files.set(name, { path, offset: segments[0]?.at ?? 0, size: segments.length > 0 ? size : 0 });
    }
  } finally {
    reader.close();
  }
  return { files: [...files], links: [...links] };
}

/** An archive's files. */
export function archiveFiles(listing: ArchiveListing): ImageFiles {
  const files = new Map(listing.files);
  const links = new Map(listing.links);
  return {
    find(name) {
      let at = cleaned(name);
      for (let i = 0; i < LINKS_MAX && links.has(at); i++) at = links.get(at)!;
      return files.get(at);
    },
  };
}

/** The files of a directory that only we write. */
export function directoryFiles(directory: string): ImageFiles {
  const root = realpathSync(directory);
  return {
    find(name) {
      const path = join(root, cleaned(name));
      const stat = lstatSync(path, { throwIfNoEntry: false });
      return stat?.isFile() ? { path, offset: 0, size: stat.size } : undefined;
    },
  };
}

/** A small file as a whole. Throws Refusal when it is not there or too large. */
export function readSmall(files: ImageFiles, name: string, maxBytes: number): Buffer {
  const range = files.find(name);
  if (!range) throw new Refusal('invalid_image', `the archive has no ${name}`);
  if (range.size > maxBytes) throw new Refusal('invalid_image', `${name} is larger than ${maxBytes} bytes`);
  if (range.offset === 0 && range.size === statSync(range.path).size) return readFileSync(range.path);
  const reader = new RangeReader(range);
  try {
    const buffer = Buffer.alloc(range.size);
    if (reader.read(buffer, 0) < range.size) throw new Refusal('invalid_image', `${name} is cut short`);
    return buffer;
  } finally {
    reader.close();
  }
}

/** Names never lead out: they are looked up, below a directory or in a map. */
function cleaned(name: string): string {
  return posix.join('/', name).slice(1).replace(/\/$/, '');
}
