import { Cell } from '../cell/cell.ts';
import type { CellProcess, ProcessExit } from '../cell/cell-process.ts';
import type { CellHandle, CommandGroup } from './driver.ts';

export type ShellResult = { stdout: string; stderr: string; code: number | null; signal: number | null };

/** Commands in a cell for tests: the path an exec takes, without journal and outcomes. */
export type Shell = {
  readonly cell: Cell;
  /** Runs `sh -c` to its end. */
  run(script: string, user?: string): Promise<ShellResult>;
  /** Starts `sh -c` in a control group of its own. */
  spawn(script: string): Promise<{ process: CellProcess; group: CommandGroup | null; execId: string }>;
  close(): void;
};

let lastExec = 0;
const WINDOW = 4 * 1024 * 1024;

/** Opens the guest protocol to a cell. */
export async function openShell(handle: CellHandle): Promise<Shell> {
  const cell = await Cell.open({
    connect: () => handle.connect(),
    config: handle.guestConfig(),
    onLost: () => undefined,
  });
  const start = async (script: string, user: string | undefined, done: (result: ShellResult) => void) => {
    const chunks: [Buffer[], Buffer[]] = [[], []];
    let exit: ProcessExit | undefined;
    let open = 2;
    const finish = () => {
      if (!exit || open > 0) return;
      const [stdout, stderr] = chunks.map((list) => Buffer.concat(list).toString()) as [string, string];
      const ended = exit.kind === 'exited' ? { code: exit.code, signal: null } : { code: null, signal: exit.code };
      done({ stdout, stderr, ...ended });
    };
    const process = await cell.spawn({
      argv: ['/bin/sh', '-c', script],
      env: {},
      user,
      stdin: false,
      tag: Buffer.from('shell'),
      window: WINDOW,
      handlers: {
        onData: (chan, _offset, chunk) => void chunks[chan - 1]!.push(Buffer.from(chunk)),
        onEof: () => {
          open--;
          finish();
        },
        onExit: (ended) => {
          exit = ended;
          finish();
        },
        onFail: () => undefined,
      },
    });
    const execId = `e${++lastExec}`;
    const group = await handle.placeCommand(execId, process.pid);
    await process.start();
    return { process, group, execId };
  };
  return {
    cell,
    run: (script, user) =>
      new Promise((resolve, reject) => {
        const started = start(script, user, async (result) => {
          const { process, group } = await started;
          await group?.release();
          process.release();
          resolve(result);
        });
        started.catch(reject);
      }),
    spawn: (script) => start(script, undefined, () => undefined),
    close: () => cell.close(),
  };
}
