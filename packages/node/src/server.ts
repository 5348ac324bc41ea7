/**
 * This is the server of a node: apiserver and edge in one process, inside the node's private mount namespace, under the
 * lock of the state directory. `viv up` starts it and reads one line of JSON from its descriptor 3: ready, or why not.
 *
 *   SIGTERM, SIGINT   stop; the sandboxes live on and are adopted by the next one
 *   SIGHUP            read the TLS certificate again
 *   SIGUSR2           end every sandbox, then stop (`viv down`)
 *
 * It may be killed at any moment: everything it promised is on disk, everything it started lives on or is swept.
 */
import { closeSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import pino, { type Logger } from 'pino';
import { LogFile } from './log-file.ts';
import { ensureHolder } from './namespace.ts';
import { type OpenNode, openEdgeOf, openNode } from './open-node.ts';
import type { NodePaths } from './paths.ts';
import { dropRecord, type Revival, writeRecord } from './process-record.ts';
import { parseServerOptions, type ServerOptions } from './server-options.ts';

const HOLDER_CHECK_MS = 2000;
/** A stop that takes longer is cut: whatever hangs is found by the next start. */
const STOP_MS = 20_000;
const END_ALL_MS = 10 * 60_000;
const STATUS_FD = 3;

const options = parseServerOptions(process.argv.slice(2));
const log = openLog(options);

// Until there is something to read again.
process.on('SIGHUP', () => {});
// After a failure that nobody took care of, nobody knows what state this process is in; what is on disk is right. So it ends, and
// the next one adopts everything. A promise that nobody waited for counts too.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (reason: unknown) => {
    log.fatal({ err: reason, event }, 'a bug: the server ends; the sandboxes live on');
    process.exit(70);
  });
}

await (options.endAll ? endAll(options) : serve(options));

async function serve({ paths }: ServerOptions): Promise<void> {
  let node: OpenNode;
  writeRecord(paths.startingRecord);
  try {
    node = await openNode(options, log);
  } catch (thrown) {
    return tellFailure(thrown);
  }
  writeRecord(paths.serverRecord, { url: node.url, revive: options.detached ? revival(options, node.url) : undefined });
  writeUrl(paths.url, node.url);
  dropRecord(paths.startingRecord);
  keepHolder(paths);
  let stopping = false;
  const stop = (signal: string, end: () => Promise<void>, boundMs: number) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => leave(paths, 1), boundMs).unref();
    end().then(
      () => leave(paths, 0),
      (err) => {
        log.error({ err }, 'did not stop cleanly');
        leave(paths, 1);
      },
    );
  };
  process.on('SIGHUP', () => {
    try {
      node.renewTls();
    } catch (err) {
      log.error({ err }, 'the certificate could not be read again; the old one is used on');
    }
  });
  process.on('SIGTERM', () => stop('SIGTERM', node.close, STOP_MS));
  process.on('SIGINT', () => stop('SIGINT', node.close, STOP_MS));
  process.on('SIGUSR2', () => stop('SIGUSR2', node.closeAndEnd, END_ALL_MS));
  log.info({ url: node.url, stateDir: paths.stateDir, runDir: paths.runDir, node: process.version }, 'ready');
  tell({ status: 'ready', url: node.url });
}

/** Whole or not at all: a command may read it at any moment. */
function writeUrl(file: string, url: string): void {
  writeFileSync(`${file}.new`, `${url}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The same server again, on the address it has now. It gives way to one that is starting already. */
function revival({ paths }: ServerOptions, url: string): Revival {
  const lock = ['flock', '--nonblock', '--no-fork', '--conflict-exit-code', '75', paths.lock];
  const asked = process.argv.slice(1).filter((arg, i, all) => arg !== '--listen' && all[i - 1] !== '--listen');
  const argv = [...lock, process.execPath, ...process.execArgv, ...asked, '--listen', new URL(url).host];
  return { argv, log: join(paths.logDir, 'crash.log') };
}

async function endAll({ paths }: ServerOptions): Promise<void> {
  const opened: (() => Promise<void> | void)[] = [];
  try {
    const edge = await openEdgeOf(paths, log, opened);
    await edge.endAll();
    for (const close of opened.reverse()) await close();
  } catch (thrown) {
    return tellFailure(thrown);
  }
  tell({ status: 'ready', url: '' });
  leave(paths, 0);
}

function leave(paths: NodePaths, code: number): never {
  dropRecord(paths.serverRecord);
  log.info({ code }, 'stopped');
  process.exit(code);
}

/** The holder may be killed like anything else: the namespace lives on with this process, so a new holder joins it. */
function keepHolder(paths: NodePaths): void {
  let busy = false;
  setInterval(async () => {
    if (busy) return;
    busy = true;
    await ensureHolder(paths, true).catch((err) => log.error({ err }, 'the holder could not be started again'));
    busy = false;
  }, HOLDER_CHECK_MS).unref();
}

function tellFailure(thrown: unknown): never {
  const error = VivError.from(thrown);
  log.fatal({ err: thrown, cause: error.cause }, 'could not start');
  dropRecord(options.paths.startingRecord);
  tell(error.toBody());
  process.exit(error.exitCode);
}

/** One line to whoever started this; nobody may be there any more. */
function tell(message: unknown): void {
  try {
    writeSync(STATUS_FD, `${JSON.stringify(message)}\n`);
    closeSync(STATUS_FD);
  } catch {
    // Started by hand, without a descriptor 3.
  }
}

function openLog({ paths, logStderr }: ServerOptions): Logger {
  const file = new LogFile(paths.logDir, 'server.log');
  const destination = {
    write(line: string): void {
      file.write(line);
      if (logStderr) process.stderr.write(line);
    },
  };
  return pino({ level: process.env.VIV_LOG_LEVEL ?? 'info', base: { pid: process.pid } }, destination);
}
