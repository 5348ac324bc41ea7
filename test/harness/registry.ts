import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Why tests with real OCI images are skipped here; false: they run. */
export function lacksOciTools(): string | false {
  const missing = ['buildah', 'docker-registry', 'skopeo'].filter((name) => spawnSync('which', [name]).status !== 0);
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : false;
}

/** Debian's docker-registry on loopback, with its data in `work`. */
export async function startRegistry(work: string, host: string): Promise<ChildProcess> {
  const directory = join(work, 'registry');
  mkdirSync(directory);
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(directory, 'data') } },
    http: { addr: host },
  };
  writeFileSync(join(directory, 'config.yml'), JSON.stringify(config));
  const child = spawn('docker-registry', ['serve', join(directory, 'config.yml')], { stdio: 'ignore' });
  while (
    !(await fetch(`http://${host}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await delay(50);
  return child;
}

/** Runs buildah with a storage of its own in `work`; returns what it says. */
export function buildahIn(work: string): (...args: string[]) => string {
  const storage = ['--storage-driver', 'vfs', '--root', join(work, 'storage'), '--runroot', join(work, 'run')];
  return (...args) =>
    execFileSync('buildah', [...storage, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

export function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
