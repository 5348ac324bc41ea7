import { decodeCursor, pageOf } from '@vivarium/core';
import {
  type Exec,
  type ExecResult,
  type ExecStart,
  type SignalRequest,
  VivError,
  type WinSize,
} from '@vivarium/protocol';
import type { ExecService, ExecStream, Idempotency, PageOf, PageRequest, Room, StreamOptions } from '../edge.ts';
import { sandboxDir } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { requireBox, requireRow } from '../lifecycle/find.ts';
import { requireAwake, wakeBox } from '../lifecycle/wake.ts';
import type { EndedExec } from './ended-execs.ts';
import { EndedExecStream } from './ended-stream.ts';
import { endedExec, findExec, listExecs, lostExec } from './exec-journal.ts';
import { whole } from './exec-record.ts';
import { LiveExecStream } from './exec-stream.ts';
import type { RunningExec } from './running-exec.ts';
import { signalNumber } from './signal-number.ts';
import { startExec } from './start-exec.ts';

const SIGKILL = 9;

/** Commands: started, followed, found again, ended. */
export class Execs implements ExecService {
  readonly #context: EdgeContext;

  constructor(context: EdgeContext) {
    this.#context = context;
  }

  async run(sandbox: string, start: ExecStart, idempotency?: Idempotency, room?: Room): Promise<ExecResult> {
    const { exec, ready } = await this.#begin(sandbox, start, false, idempotency);
    await ready;
    const live = 'endRecord' in exec;
    if (start.detach) return { ...(live ? exec.view() : exec.exec), stdoutB64: '', stderrB64: '' };
    if (!live) return result(exec, room);
    await exec.recorded;
    return result(ended(exec), room);
  }

  async start(
    sandbox: string,
    start: ExecStart,
    options: StreamOptions,
    idempotency?: Idempotency,
  ): Promise<ExecStream> {
    const { exec, ready } = await this.#begin(sandbox, start, options.stdin, idempotency);
    if (!('endRecord' in exec)) return new EndedExecStream(exec, options, { stdout: 0, stderr: 0 });
    const stream = new LiveExecStream(exec, options, { stdout: 0, stderr: 0 });
    try {
      await ready;
    } catch (error) {
      stream.close();
      throw error;
    }
    return stream;
  }

  async attach(
    sandbox: string,
    id: string,
    options: StreamOptions & { stdoutOffset: number; stderrOffset: number },
  ): Promise<ExecStream> {
    const from = { stdout: options.stdoutOffset, stderr: options.stderrOffset };
    const found = await this.#find(sandbox, id);
    return 'endRecord' in found ? new LiveExecStream(found, options, from) : new EndedExecStream(found, options, from);
  }

  async get(sandbox: string, id: string): Promise<Exec> {
    const found = await this.#find(sandbox, id);
    return 'endRecord' in found ? found.view() : found.exec;
  }

  async result(sandbox: string, id: string, waitMs: number, room?: Room): Promise<ExecResult> {
    const found = await this.#find(sandbox, id);
    if (!('endRecord' in found)) return result(found, room);
    let cancel = () => {};
    const timeUp = new Promise<void>((resolve) => {
      cancel = this.#context.clock.after(waitMs, resolve);
    });
    await Promise.race([found.ended, timeUp]);
    cancel();
    return result({ exec: found.view(), stdout: found.stdout.kept, stderr: found.stderr.kept }, room);
  }

  async list(sandbox: string, page: PageRequest): Promise<PageOf<Exec>> {
    const after = page.cursor === undefined ? -1 : Number(decodeCursor(page.cursor));
    const box = this.#context.boxes.get(sandbox);
    const execs = await listExecs(sandbox, this.#dir(sandbox), after, page.limit + 1);
    const { endedExecs } = this.#context;
    const current = execs.map(
      (exec) => box?.execs.get(exec.id)?.view() ?? endedExecs.get(sandbox, exec.id)?.exec ?? whole(exec),
    );
    return pageOf(current, page.limit, ({ seq }) => String(seq));
  }

  running(sandbox: string): Exec[] {
    return [...requireBox(this.#context, sandbox).execs.values()].map((exec) => exec.view());
  }

  async signal(sandbox: string, id: string, request: SignalRequest): Promise<void> {
    const exec = await this.#running(sandbox, id);
    exec.box.requireCell();
    const number = signalNumber(request.signal);
    exec.box.touch();
    if (request.scope !== 'tree') return exec.process!.signal(number, request.scope);
    if (!exec.group) return number === SIGKILL ? exec.process!.killTree() : exec.process!.signal(number, 'group');
    await (number === SIGKILL ? exec.group.kill() : exec.group.signal(number));
  }

  async resize(sandbox: string, id: string, size: WinSize): Promise<void> {
    const exec = await this.#running(sandbox, id);
    if (!exec.asked.pty) throw new VivError('invalid_argument', `exec ${id} has no terminal`, { details: { id } });
    exec.process!.resize(size.rows, size.cols);
  }

  async cancel(sandbox: string, id: string): Promise<void> {
    const found = await this.#find(sandbox, id);
    if (!('endRecord' in found)) return;
    // What stands still ends only when it goes on.
    if (found.box.row.autoResume) await wakeBox(found.box);
    await found.end('canceled');
  }

  /** A new command, or the one that the same key made before. */
  async #begin(
    sandbox: string,
    start: ExecStart,
    stream: boolean,
    idempotency?: Idempotency,
  ): Promise<{ exec: RunningExec | EndedExec; ready: Promise<void> }> {
    const box = requireBox(this.#context, sandbox);
    const known = () => idempotency && box.execKeys?.get(idempotency.key);
    if (!known()) await requireAwake(this.#context, sandbox);
    const before = known();
    if (!before || !idempotency) return startExec(box, start, stream, idempotency);
    if (before.requestHash !== idempotency.requestHash) {
      throw new VivError('idempotency_mismatch', `key "${idempotency.key}" was used for another command`, {
        details: { exec: before.exec },
      });
    }
    const exec = await this.#find(sandbox, before.exec);
    return { exec, ready: 'endRecord' in exec ? exec.started : Promise.resolve() };
  }

  #dir(sandbox: string): string {
    return sandboxDir(this.#context.stateDir, requireRow(this.#context, sandbox).id);
  }

  async #find(sandbox: string, id: string): Promise<RunningExec | EndedExec> {
    const running = this.#context.boxes.get(sandbox)?.execs.get(id);
    if (running) return running;
    const remembered = this.#context.endedExecs.get(sandbox, id);
    if (remembered) return remembered;
    const dir = this.#dir(sandbox);
    const { start, end } = await findExec(sandbox, dir, id);
    const { files } = this.#context;
    const found = end ? endedExec(sandbox, dir, files, start, end) : lostExec(sandbox, dir, files, start);
    this.#context.endedExecs.put(found);
    return found;
  }

  async #running(sandbox: string, id: string): Promise<RunningExec> {
    await requireAwake(this.#context, sandbox);
    const found = await this.#find(sandbox, id);
    if ('endRecord' in found && found.process) return found;
    throw new VivError('exec_not_running', `exec ${id} ${'endRecord' in found ? 'has not started yet' : 'has ended'}`, {
      details: { id },
    });
  }
}

function ended(exec: RunningExec): EndedExec {
  if (!exec.endRecord)
    throw new VivError('node_disk_full', `the end of exec ${exec.id} could not be written down`, {
      details: { id: exec.id },
    });
  return { exec: exec.view(), stdout: exec.stdout.kept, stderr: exec.stderr.kept };
}

/** With what was kept of the output, in base64. */
async function result({ exec, stdout, stderr }: EndedExec, room?: Room): Promise<ExecResult> {
  await room?.(stdout.size + stderr.size);
  return { ...exec, stdoutB64: stdout.readAll().toString('base64'), stderrB64: stderr.readAll().toString('base64') };
}
