import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorBody, VivError } from '@vivarium/protocol';
import type { FnResult, Room } from '../edge.ts';
import type { Execs } from '../exec/service.ts';
import { diskError } from '../journal/journal.ts';
import { sandboxDir } from '../lifecycle/box.ts';

/** What is written down of a call that may be asked for again: its commands are in the journal of its container. */
type Record = Omit<FnResult, 'compile' | 'run' | 'files'> & {
  compile: string | null;
  run: string | null;
  files: { path: string; content: string; mode: number }[];
};

/** A name for the record of a call: a client's key may be anything. */
export function recordPath(stateDir: string, sandbox: string, keyHash: string): string {
  return join(sandboxDir(stateDir, sandbox), `call-${keyHash}.json`);
}

/** Throws `node_disk_full`. */
export function writeRecord(path: string, result: FnResult): void {
  const record: Record = {
    ...result,
    compile: result.compile?.id ?? null,
    run: result.run?.id ?? null,
    files: result.files.map(({ content, ...file }) => ({ ...file, content: Buffer.from(content).toString('base64') })),
  };
  write(path, record);
}

/** In place of its result. Throws `node_disk_full`. */
export function writeError(path: string, error: VivError): void {
  write(path, error.toBody());
}

function write(path: string, record: Record | ErrorBody): void {
  try {
    writeFileSync(path, JSON.stringify(record), { mode: 0o600 });
  } catch (error) {
    throw diskError(error, 'the record of a call');
  }
}

/** Undefined when the call did not come to its end. Throws the error that it came to. */
export async function readRecord(path: string, execs: Execs, room?: Room): Promise<FnResult | undefined> {
  let record: Record | ErrorBody;
  try {
    record = JSON.parse(readFileSync(path, 'utf8')) as Record | ErrorBody;
  } catch {
    return undefined;
  }
  if ('error' in record) throw VivError.fromBody(record);
  const { sandbox, compile, run } = record;
  const exec = (id: string | null) => (id === null ? null : execs.result(sandbox, id, 0, room));
  const files = record.files.map(({ content, ...file }) => ({ ...file, content: Buffer.from(content, 'base64') }));
  return { ...record, compile: await exec(compile), run: await exec(run), files };
}
