import { type Exec, type JournalRecord, VivError } from '@vivarium/protocol';
import type { DescriptorCache } from '../journal/descriptor-cache.ts';
import { journalPath } from '../journal/journal.ts';
import { readRecords } from '../journal/journal-file.ts';
import { KeptOutput } from '../journal/kept-output.ts';
import type { EndedExec } from './ended-execs.ts';
import { type ExecEndData, execOf, outputPath, whole } from './exec-record.ts';

type Pair = { start: JournalRecord; end?: JournalRecord };

/** Finds one command in a sandbox's journal. Throws `exec_not_found`. */
export async function findExec(sandbox: string, dir: string, id: string): Promise<Pair> {
  let start: JournalRecord | undefined;
  for await (const record of readRecords(journalPath(dir))) {
    if (record.exec !== id) continue;
    if (record.type === 'exec_start') start = record;
    else if (record.type === 'exec_end' && start) return { start, end: record };
  }
  if (start) return { start };
  throw new VivError('exec_not_found', `sandbox ${sandbox} has no exec ${id}`, { details: { sandbox, id } });
}

/** Commands of a sandbox in the order of their start, from after a sequence number, at most `limit`. */
export async function listExecs(sandbox: string, dir: string, afterSeq: number, limit: number): Promise<Exec[]> {
  const pairs = new Map<string, Pair>();
  const waiting = new Set<string>();
  for await (const record of readRecords(journalPath(dir), afterSeq)) {
    if (record.type === 'exec_start' && pairs.size < limit) {
      pairs.set(record.exec!, { start: record });
      waiting.add(record.exec!);
    } else if (record.type === 'exec_end' && waiting.delete(record.exec!)) pairs.get(record.exec!)!.end = record;
    if (pairs.size >= limit && waiting.size === 0) break;
  }
  return [...pairs.values()].map(({ start, end }) => execOf(sandbox, start, end));
}

/** A command whose end was never written down, with the output that is on file. */
export function lostExec(sandbox: string, dir: string, files: DescriptorCache, start: JournalRecord): EndedExec {
  const kept = (stream: 1 | 2) =>
    KeptOutput.resume(outputPath(dir, start.exec!, stream), files, Number.MAX_SAFE_INTEGER);
  const [stdout, stderr] = [kept(1), kept(2)];
  const summary = ({ size }: KeptOutput) => ({ bytes: size, keptBytes: size, truncated: true, sha256: null });
  const exec = { ...whole(execOf(sandbox, start)), stdout: summary(stdout), stderr: summary(stderr) };
  return { exec, stdout, stderr };
}

/** An ended command with what was kept of its output. */
export function endedExec(
  sandbox: string,
  dir: string,
  files: DescriptorCache,
  start: JournalRecord,
  end: JournalRecord,
): EndedExec {
  const data = end.data as ExecEndData;
  const kept = (stream: 1 | 2, { keptBytes, b64 }: ExecEndData['stdout']) =>
    KeptOutput.ended(
      outputPath(dir, start.exec!, stream),
      files,
      keptBytes,
      b64 === undefined ? null : Buffer.from(b64, 'base64'),
    );
  return { exec: execOf(sandbox, start, end), stdout: kept(1, data.stdout), stderr: kept(2, data.stderr) };
}
