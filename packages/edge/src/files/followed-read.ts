import type { Readable } from 'node:stream';
import type { Box } from '../lifecycle/box.ts';
import type { Tally } from './tally.ts';

/** What a journal record tells beside operation and path. */
export type Note = Record<string, unknown>;

/**
 * Journals a stream that leaves the sandbox, and is counted by the tally, when it closes. `whole`: how many bytes there are, where that is
 * known: a reader that has them all may close the stream before its end comes.
 */
export function followRead(
  box: Box,
  stream: Readable,
  tally: Tally,
  journal: (note: Note, error?: unknown) => void,
  note: Note,
  whole = 0,
): void {
  box.open += 1;
  let failure: unknown;
  stream.once('error', (error) => {
    failure = error;
  });
  stream.once('close', () => {
    box.open -= 1;
    box.touch();
    const complete = stream.readableEnded || (whole > 0 && tally.bytes >= whole);
    const counted = { bytes: tally.bytes, sha256: tally.sha256(), ...(complete ? {} : { complete: false }) };
    journal({ ...note, ...counted }, failure);
  });
}
