/**
 * The base image, made once per machine by a node of its own and kept in a cache directory (VIV_TEST_CACHE, default
 * /var/cache/vivarium-test). Test nodes get hard links of its files.
 *
 *   image-cache.ts    as a program: makes the cache if it is missing (under a lock, see ensureCache)
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { down, nodePaths, runningServer, up } from '@vivarium/node';
import { Vivarium } from '@vivarium/sdk';
import { ensureBaseImage } from '../../scripts/demo/base-image.ts';

export const CACHE = process.env.VIV_TEST_CACHE ?? '/var/cache/vivarium-test';
const STATE = join(CACHE, 'state');
const DONE = join(CACHE, 'done-1');
/** What makes up an image store: files, manifests, and the key that signed them. */
export const IMAGE_PARTS = ['layers', 'images'];
const NODE_FILES = /^(first\.key|keys\.db.*)$/;

/** Puts the cached image into a fresh state directory; `copy` for tests that damage files. */
export function linkImages(stateDir: string, copy: boolean): void {
  ensureCache();
  linkStore(STATE, stateDir, copy);
}

/** The image store of one state directory in another, fresh one. */
export function linkStore(from: string, stateDir: string, copy: boolean): void {
  mkdirSync(join(stateDir, 'keys'), { recursive: true, mode: 0o700 });
  for (const part of IMAGE_PARTS) duplicate(join(from, part), join(stateDir, part), copy);
  for (const name of readdirSync(join(from, 'keys'))) {
    if (!NODE_FILES.test(name)) execFileSync('cp', ['-a', join(from, 'keys', name), join(stateDir, 'keys', name)]);
  }
}

/** Hard links where they can be made (the same file system). */
function duplicate(from: string, to: string, copy: boolean): void {
  if (!copy && spawnSync('cp', ['-al', from, to], { stdio: 'ignore' }).status === 0) return;
  rmSync(to, { recursive: true, force: true });
  execFileSync('cp', ['-a', '--reflink=auto', from, to]);
}

/** Test files run side by side: one makes the cache, the others wait for the lock. */
function ensureCache(): void {
  if (existsSync(DONE)) return;
  mkdirSync(CACHE, { recursive: true, mode: 0o711 });
  const argv = [join(CACHE, 'lock'), process.execPath, '--disable-warning=ExperimentalWarning', import.meta.filename];
  execFileSync('flock', argv, { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function makeCache(): Promise<void> {
  if (existsSync(DONE)) return;
  const quiet = () => {};
  await down({ stateDir: STATE, purge: true }, quiet);
  rmSync(STATE, { recursive: true, force: true });
  await up({ stateDir: STATE, listen: '127.0.0.1:0', domain: undefined, detach: true }, quiet);
  try {
    const paths = nodePaths(STATE);
    const { url } = (await runningServer(paths))!;
    const viv = new Vivarium({ url, apiKey: readFileSync(paths.firstKey, 'utf8').trim() });
    await ensureBaseImage(viv, quiet);
    viv.close();
  } finally {
    await down({ stateDir: STATE, purge: false }, quiet);
  }
  writeFileSync(DONE, 'complete\n');
}

if (process.argv[1] === import.meta.filename) await makeCache();
