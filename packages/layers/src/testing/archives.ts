import { execFileSync } from 'node:child_process';
import tar from 'tar-stream';

export type ArchiveEntry = {
  name: string;
  type?: tar.Header['type'];
  linkname?: string;
  body?: string | Buffer;
  mode?: number;
  uid?: number;
  mtime?: Date;
  devmajor?: number;
  devminor?: number;
  pax?: Record<string, string>;
};

/** A tar with exactly these entries, however hostile. */
export async function archiveOf(entries: ArchiveEntry[]): Promise<Buffer> {
  const pack = tar.pack();
  for (const { body = '', mtime = new Date(1_600_000_000_000), ...header } of entries) {
    pack.entry({ mtime, ...header } as tar.Header, body as string);
  }
  pack.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of pack) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A tar of a directory, made by GNU tar with all it can keep. */
export function tarOf(directory: string, ...options: string[]): Buffer {
  const args = ['--create', '--format=pax', '--numeric-owner', '--xattrs', '--xattrs-include=*', '--acls', ...options];
  return execFileSync('tar', [...args, '-C', directory, '.'], {
    maxBuffer: 256 * 1024 ** 2,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** The bytes in chunks of a size, as they would come from a client. */
export async function* chunked(bytes: Buffer, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
