/**
 * A real node of its own for a test file: state directory below TMPDIR, a free port, a client. The base image is made once
 * per machine (image-cache.ts) and linked in.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  down,
  liveRecord,
  type NodePaths,
  nodePaths,
  runningServer,
  stopServer,
  type UpOptions,
  up,
} from '@vivarium/node';
import { gone } from '@vivarium/node/process-record.ts';
import { Vivarium } from '@vivarium/sdk';
import { linkImages } from './image-cache.ts';

export const IMAGE = 'base/debian@12';

export type TestNode = {
  readonly url: string;
  readonly key: string;
  readonly paths: NodePaths;
  /** A client of the node as it is now; a restart keeps URL and key. */
  readonly viv: Vivarium;
  serverPid(): number;
  /** SIGKILL to the server; resolves when it is gone. */
  kill9(): Promise<void>;
  /** Starts the server again on the same address. */
  start(): Promise<void>;
  /** SIGTERM, as an upgrade would; the sandboxes live on. */
  stop(): Promise<void>;
  /** Ends everything and deletes the state. */
  purge(): Promise<void>;
};

const quiet = () => {};

/**
 * `image: false` starts with an empty image store. `ownFiles`: layers are copied, for tests that damage them. `port`: where it listens,
 * with a domain that names the port. `up`: further options of `viv up`.
 */
export async function startTestNode(
  options: { image?: boolean; ownFiles?: boolean; stateDir?: string; port?: number; up?: Partial<UpOptions> } = {},
): Promise<TestNode> {
  const stateDir = options.stateDir ?? mkdtempSync(join(tmpdir(), 'viv-node-'));
  noteStateDir(stateDir);
  const paths = nodePaths(stateDir);
  if (options.image !== false) linkImages(stateDir, options.ownFiles === true);
  // No packet of a test leaves the machine: tests with a registry of their own say so in this file.
  const registries = join(stateDir, 'registries.json');
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  if (!existsSync(registries)) writeFileSync(registries, '{"only":[]}\n');
  const upOn = (port: number) =>
    up({ stateDir, listen: `127.0.0.1:${port}`, domain: undefined, detach: true, ...options.up }, quiet);
  await upOn(options.port ?? 0);
  const url = (await runningServer(paths))!.url;
  const port = Number(new URL(url).port);
  const key = readFileSync(paths.firstKey, 'utf8').trim();
  const viv = new Vivarium({ url, apiKey: key });
  return {
    url,
    key,
    paths,
    viv,
    serverPid: () => liveRecord(paths.serverRecord)!.pid,
    kill9: async () => {
      const record = liveRecord(paths.serverRecord)!;
      process.kill(record.pid, 'SIGKILL');
      await gone(record, 10_000);
    },
    start: async () => void (await upOn(port)),
    stop: () => stopServer(paths),
    purge: async () => {
      viv.close();
      await down({ stateDir, purge: true }, quiet);
    },
  };
}

/** Runs `bin/viv` against a test node; never throws for an exit code. */
export function runViv(node: TestNode, args: string[], input = ''): { code: number; stdout: string; stderr: string } {
  const viv = join(import.meta.dirname, '../../bin/viv');
  const env = {
    ...process.env,
    VIV_URL: node.url,
    VIV_API_KEY: node.key,
    VIV_STATE_DIR: node.paths.stateDir,
    NO_COLOR: '1',
  };
  try {
    const stdout = execFileSync(viv, args, {
      env,
      input,
      stdio: ['pipe', 'pipe', 'pipe'],
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    return { code: 0, stdout, stderr: '' };
  } catch (thrown) {
    const { status, stdout, stderr } = thrown as { status: number; stdout: string; stderr: string };
    return { code: status, stdout, stderr };
  }
}

/** The leak check looks for a node's run directory also after its state directory was deleted. */
export function noteStateDir(stateDir: string): void {
  if (process.env.VIV_TEST_RUN === undefined) return;
  appendFileSync(join(tmpdir(), 'run-dirs'), `${nodePaths(stateDir).runDir}\n`);
}
