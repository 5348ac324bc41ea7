import { createHash } from 'node:crypto';
import type { Source } from './selection.ts';

/** A here-document as a source of COPY. */
export function inlineFile(name: string, content: string): Source {
  const bytes = Buffer.from(content, 'utf8');
  const node = {
    type: 'file' as const,
    mode: 0o644,
    uid: 0,
    gid: 0,
    mtimeNs: 0n,
    size: bytes.length,
    link: '',
    digest: createHash('sha256').update(bytes).digest('hex'),
    async *read() {
      yield bytes;
    },
  };
  return { name: Buffer.from(name, 'utf8').toString('latin1'), isDirectory: false, entries: [{ path: '', node }] };
}
