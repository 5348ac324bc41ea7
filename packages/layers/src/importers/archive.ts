import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { VivError } from '@vivarium/protocol';
import type { Source } from '../builder.ts';
import { LAYER_LIMITS } from '../limits.ts';
import type { Report } from '../progress.ts';
import { runTool } from '../tool.ts';
import { ArchiveEnd } from './archive-end.ts';
import { decompressed } from './compression.ts';

/**
 * The source that is a tar stream (ustar, pax or GNU; plain, gzip or zstd). GNU tar unpacks it: it refuses member names
 * with `..`, strips a leading `/` from names and hard link targets, and makes symbolic links that point outside only at the end, so that no
 * entry can be written through one. Owners are kept by number, set-id bits, times, hard links, ACLs and extended attributes too.
 */
export function archiveSource(body: AsyncIterable<Uint8Array>, opaque: readonly string[] = []): Source {
  return {
    createdBy: 'tar',
    opaque,
    impliedDirectories: true,
    fill: (root, _scratch, report, signal) => unpack(body, root, report, signal),
  };
}

const TAR_ARGS = [
  '--extract',
  '--verbose',
  '--file=-',
  '--numeric-owner',
  '--same-owner',
  '--preserve-permissions',
  '--acls',
  '--xattrs',
  '--xattrs-include=*',
  '--delay-directory-restore',
  '--warning=no-timestamp',
];

const REPORT_EVERY = 5000;

async function unpack(
  body: AsyncIterable<Uint8Array>,
  root: string,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const end = new ArchiveEnd(LAYER_LIMITS.maxLayerBytes);
  let entries = 0;
  const tooMany = new AbortController();
  try {
    await runTool('tar', [...TAR_ARGS, `--directory=${root}`], {
      signal: AbortSignal.any([signal, tooMany.signal]),
      package: 'tar',
      onStdout: (chunk) => {
        const before = entries;
        for (const byte of chunk) if (byte === 0x0a) entries++;
        if (Math.floor(before / REPORT_EVERY) !== Math.floor(entries / REPORT_EVERY))
          report('unpack', `${entries} entries`, { done: entries });
        if (entries > LAYER_LIMITS.maxLayerEntries) tooMany.abort();
      },
      feed: (stdin) => feed(body, end, stdin, signal),
    });
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    if (tooMany.signal.aborted)
      throw new VivError('invalid_image', `the archive has more than ${LAYER_LIMITS.maxLayerEntries} entries`);
    throw archiveError(thrown);
  }
  end.requireComplete();
  if (entries === 0) throw new VivError('invalid_image', 'the archive is empty');
  report('unpack', `${entries} entries`, { done: entries });
}

async function feed(
  body: AsyncIterable<Uint8Array>,
  end: ArchiveEnd,
  stdin: Writable,
  signal: AbortSignal,
): Promise<void> {
  await pipeline(Readable.from(decompressed(namingBreaks(body)), { objectMode: false }), end, stdin, { signal });
}

/** A body that breaks (the client is gone) is a truncated archive, not an error of ours. */
export async function* namingBreaks(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw new VivError('invalid_image', `the archive broke off: ${(cause as Error).message}; nothing was kept`, {
      cause,
    });
  }
}

function archiveError(thrown: unknown): unknown {
  if (!(thrown instanceof VivError) || thrown.code !== 'import_failed') {
    return thrown;
  }
  const output = String(thrown.details.output ?? '');
  const escaping = /^tar: (.*): Member name contains '\.\.'/m.exec(output);
  if (escaping)
    return new VivError('path_escapes', `the archive's entry ${escaping[1]} leads out of it; nothing was kept`, {
      details: { output },
    });
  const first =
    output.split('\n').find((line) => line.startsWith('tar: ') && !/Removing leading/.test(line)) ?? thrown.message;
  return new VivError(
    'invalid_image',
    `the archive can't be unpacked: ${first.replace(/^tar: /, '')}; nothing was kept`,
    { details: { output } },
  );
}
