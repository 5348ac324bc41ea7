import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** A real node, started for one benchmark run, and what the sections need to drive and watch it. */
export type Testbed = {
  url: string;
  key: string;
  stateDir: string;
  runDir: string;
  image: string;
  /** Pid of the server process as it is now. */
  serverPid(): number;
  serverRssMiB(): number;
  http: HttpClient;
  start(): Promise<void>;
  stop(): Promise<void>;
};

export async function openTestbed(stateDir: string): Promise<Testbed> {
  mkdirSync(stateDir, { recursive: true });
  const port = await freePort();
  const runDir = `/run/vivarium-${createHash('sha256').update(realpathSync(stateDir)).digest('hex').slice(0, 8)}`;
  const viv = (...args: string[]) =>
    run(join(ROOT, 'bin/viv'), [...args, '--state-dir', stateDir], join(stateDir, 'bench.log'));
  const start = () => viv('up', '--detach', '--listen', `127.0.0.1:${port}`);
  await start();
  // A node that was kept from an earlier run listens where it listened then.
  const { url } = JSON.parse(readFileSync(join(runDir, 'server.json'), 'utf8')) as { url: string };
  const key = readFileSync(join(stateDir, 'keys/first.key'), 'utf8').trim();
  const serverPid = () => (JSON.parse(readFileSync(join(runDir, 'server.json'), 'utf8')) as { pid: number }).pid;
  const bed: Testbed = {
    url,
    key,
    stateDir,
    runDir,
    image: 'base/debian@12',
    serverPid,
    serverRssMiB: () => rssMiB(serverPid()),
    http: new HttpClient(Number(new URL(url).port), key),
    start,
    stop: () => viv('down', '--purge'),
  };
  await ensureImage(bed);
  return bed;
}

export function rssMiB(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) / 1024;
}

export function memAvailableMiB(): number {
  return Number(/MemAvailable:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;
}

/** A keep-alive JSON client on node:http: the cost of the client itself stays small. */
export class HttpClient {
  private agent = new Agent({ keepAlive: true, maxSockets: 256 });
  private readonly port: number;
  private readonly key: string;

  constructor(port: number, key: string) {
    this.port = port;
    this.key = key;
  }

  /** Rejects with the server's message when the status is not 2xx. */
  call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers: Record<string, string | number> = { authorization: `Bearer ${this.key}` };
    if (payload !== undefined) {
      headers['content-type'] = 'application/json';
      headers['content-length'] = Buffer.byteLength(payload);
    }
    return new Promise((resolve, reject) => {
      const req = request({ agent: this.agent, host: '127.0.0.1', port: this.port, method, path, headers }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if ((res.statusCode ?? 500) >= 300) return reject(new Error(`${method} ${path}: ${res.statusCode} ${text}`));
          resolve((text === '' ? {} : JSON.parse(text)) as T);
        });
      });
      req.on('error', reject);
      req.end(payload);
    });
  }

  create(image: string, extra: Record<string, unknown> = {}): Promise<{ id: string }> {
    return this.call('POST', '/v1/sandboxes', { image, ...extra });
  }

  async exec(id: string, argv: string[], extra: Record<string, unknown> = {}): Promise<ExecAnswer> {
    return this.call('POST', `/v1/sandboxes/${id}/execs`, { argv, ...extra });
  }

  kill(id: string): Promise<unknown> {
    return this.call('DELETE', `/v1/sandboxes/${id}`);
  }

  close(): void {
    this.agent.destroy();
  }

  /** Gives up idle connections, so that they don't count as the server's descriptors. */
  disconnect(): void {
    this.agent.destroy();
    this.agent = new Agent({ keepAlive: true, maxSockets: 256 });
  }
}
export type ExecAnswer = {
  id: string;
  exitCode: number;
  outcome: { type: string };
  stdoutB64: string;
  stdout: { bytes: number; sha256: string | null };
};

/** Throws when a command did not end as it should: a benchmark of failures measures nothing. */
export function mustExit(answer: ExecAnswer, code = 0): void {
  if (answer.exitCode !== code) throw new Error(`exit ${answer.exitCode}, outcome ${JSON.stringify(answer.outcome)}`);
}

async function ensureImage(bed: Testbed): Promise<void> {
  const { items } = await bed.http.call<{ items: { name: string }[] }>('GET', '/v1/images');
  if (items.some((image) => image.name === bed.image)) return;
  const response = await fetch(`${bed.url}/v1/images/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bed.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: bed.image, source: { type: 'builtin', name: 'base' } }),
  });
  const text = await response.text();
  const last = text.trim().split('\n').at(-1) ?? '';
  if (!last.includes('"done"')) throw new Error(`image import: ${last}`);
}

function run(program: string, args: string[], log: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', 'exec "$0" "$@" >>"$VIV_BENCH_LOG" 2>&1', program, ...args], {
      env: { ...process.env, VIV_BENCH_LOG: log },
      stdio: 'ignore',
    });
    child.on('error', reject);
    child.on('exit', (code) =>
      code === 0
        ? resolve()
        : reject(
            new Error(
              `${program} ${args.join(' ')}: exit ${code}, see ${existsSync(log) ? readFileSync(log, 'utf8').slice(-2000) : log}`,
            ),
          ),
    );
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Output of a short host command, trimmed. */
export function shell(command: string): string {
  return execFileSync('sh', ['-c', command], { encoding: 'utf8', maxBuffer: 64 << 20 }).trim();
}
