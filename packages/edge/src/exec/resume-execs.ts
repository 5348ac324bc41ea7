import type { JournalRecord } from '@vivarium/protocol';
import type { RetainedProcess } from '../cell/cell-process.ts';
import type { Box } from '../lifecycle/box.ts';
import type { ExecEndData, ExecStartData } from './exec-record.ts';
import { RunningExec } from './running-exec.ts';
import { feedStdin } from './stdin-file.ts';

/** Reads a journal for what a restarted edge must know of a sandbox's commands. */
export function replayExecs() {
  const open = new Map<string, JournalRecord>();
  const keys = new Map<string, { requestHash: string; exec: string }>();
  let total = 0;
  let kept = 0;
  const reachBytes = new Map<number, number>();
  return {
    take(record: JournalRecord): void {
      if (record.type === 'exec_start') {
        const data = record.data as ExecStartData;
        total += 1;
        open.set(record.exec!, record);
        if (data.idempotencyKey)
          keys.set(data.idempotencyKey, { requestHash: data.requestHash ?? '', exec: record.exec! });
      } else if (record.type === 'exec_end') {
        open.delete(record.exec!);
        const data = record.data as ExecEndData;
        for (const { keptBytes, b64 } of [data.stdout, data.stderr]) if (b64 === undefined) kept += keptBytes;
      } else if (record.type === 'reach') {
        const { port, bytesIn, bytesOut } = record.data as { port: number; bytesIn: number; bytesOut: number };
        reachBytes.set(port, (reachBytes.get(port) ?? 0) + bytesIn + bytesOut);
      }
    },
    into(box: Box): void {
      box.execsTotal = total;
      box.outputBudget.leftBytes -= kept;
      if (keys.size > 0) box.execKeys = keys;
      if (reachBytes.size > 0) box.reachBytes = reachBytes;
      for (const [id, start] of open) box.execs.set(id, new RunningExec(box, start, null, true));
    },
  };
}

/** Takes over, after a (re)connect with a fresh Cell, the commands that the guest still holds. */
export async function resumeExecs(box: Box): Promise<void> {
  const retained = new Map(
    box.cell!.retained().map((process) => [Buffer.from(process.tag).toString('latin1'), process]),
  );
  for (const exec of [...box.execs.values()]) {
    const process = retained.get(exec.id);
    retained.delete(exec.id);
    if (process) await resumeExec(box, exec, process);
    else neverRan(box, exec);
  }
  for (const stranger of retained.values()) forget(box, stranger);
}

async function resumeExec(box: Box, exec: RunningExec, retained: RetainedProcess): Promise<void> {
  const out1 = exec.stdout.resume(retained.out1.base);
  const out2 = retained.out2 ? exec.stderr.resume(retained.out2.base) : 0;
  if (!retained.out2) exec.stderr.end();
  exec.countAgain();
  exec.countTime();
  exec.process = box.cell!.resumeProcess(retained, { out1, out2, in: retained.received }, exec.handlers);
  exec.group = await box.handle!.findCommand(exec.id);
  if (retained.phase === 'waiting') {
    exec.group ??= await box.handle!.placeCommand(exec.id, retained.pid);
    await exec.process.start().catch(() => {});
  }
  if (exec.endRecord) return;
  exec.began();
  feedStdin(exec, retained.received);
}

/** The edge died between writing the request down and telling the guest: nothing ran, so its key may be used again. */
function neverRan(box: Box, exec: RunningExec): void {
  const { idempotencyKey } = exec.asked;
  if (idempotencyKey) box.execKeys?.delete(idempotencyKey);
  exec.abandon('sandbox_lost', 'the node restarted before it was started; it did not run');
}

/** Its end was journalled, only the guest had not been told. Anything else nobody asked for is ended. */
function forget(box: Box, retained: RetainedProcess): void {
  const nothing = () => {};
  const process = box.cell!.resumeProcess(
    retained,
    { out1: retained.out1.end, out2: retained.out2?.end ?? 0, in: retained.received },
    { onData: nothing, onEof: nothing, onFail: nothing, onExit: () => process.release() },
  );
  if (retained.phase === 'waiting') process.cancel();
  else if (retained.phase === 'running') process.killTree();
}
