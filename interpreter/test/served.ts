import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const LAUNCHER = resolve(import.meta.dirname, '../launcher.py');
export const PYTHON = '/usr/bin/python3';
/** Why the server can not be tried on this machine; false when it can. */
export const CAN_NOT = existsSync(PYTHON) ? false : `${PYTHON} is missing`;

/** One line of an answer of /execute. */
// biome-ignore lint/suspicious/noExplicitAny: assertions say what it holds.
export type Line = { type: string } & Record<string, any>;

export type Served = {
  readonly url: string;
  readonly port: number;
  readonly launcher: ChildProcess;
  /** Runs code and returns what it told, without the first and the last line. */
  execute(language: string, code: string, more?: object): Promise<Line[]>;
  /** Sends bytes as they are and returns all that comes back until the server closes the connection. */
  raw(bytes: string | Buffer): Promise<string>;
  close(): Promise<void>;
};

/** The server on this machine, as in a sandbox but for the port: kernels are this machine's programs. */
export async function serve(environment: Record<string, string> = {}): Promise<Served> {
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'viv-interpreter-'));
  const launcher = spawn(PYTHON, ['-I', '-S', LAUNCHER], {
    stdio: 'inherit',
    env: {
      PATH: process.env.PATH,
      HOME: home,
      PYTHONDONTWRITEBYTECODE: '1',
      CODE_INTERPRETER_PORT: String(port),
      CODE_INTERPRETER_NODE: process.execPath,
      ...environment,
    },
  });
  const url = `http://127.0.0.1:${port}`;
  await listens(port);
  return {
    url,
    port,
    launcher,
    execute: async (language, code, more = {}) => {
      const response = await fetch(`${url}/execute`, {
        method: 'POST',
        body: JSON.stringify({ language, code, ...more }),
      });
      const lines = (await response.text())
        .trimEnd()
        .split('\n')
        .map((line): Line => JSON.parse(line));
      return lines.slice(1, -1);
    },
    raw: (bytes) => exchange(port, bytes),
    close: async () => {
      launcher.kill('SIGTERM');
      await once(launcher, 'exit');
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function listens(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const open = await new Promise<boolean>((done) => {
      socket.once('connect', () => done(true));
      socket.once('error', () => done(false));
    });
    socket.destroy();
    if (open) return;
    await sleep(20);
  }
}
