/**
 * The image `e2b/base`, made once per machine from the cached base image (image-cache.ts) and kept beside it: the user `user`
 * with sudo, `python`, curl. Test nodes get hard links of its files.
 *
 *   e2b-image.ts    as a program: makes the cache if it is missing (under a lock, see linkE2bImages)
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { down, nodePaths, runningServer, up } from '@vivarium/node';
import { Vivarium } from '@vivarium/sdk';
import { packContext } from '@vivarium/sdk/node';
import { CACHE, IMAGE_PARTS, linkImages, linkStore } from './image-cache.ts';

export const E2B_BASE = 'e2b/base@1';

const STATE = join(CACHE, 'e2b-state');
const DONE = join(CACHE, 'e2b-done-1');
const DOCKERFILE = `FROM base/debian@12
RUN id user || useradd --create-home --shell /bin/bash user
RUN mkdir -p /etc/sudoers.d && echo 'user ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/user && chmod 0440 /etc/sudoers.d/user
RUN ln -sf python3 /usr/bin/python && mkdir -p /code && chmod 777 /code /usr/local
`;

/** Puts base and E2B images into a fresh state directory. */
export function linkE2bImages(stateDir: string): void {
  ensureCache();
  linkStore(STATE, stateDir, false);
}

function ensureCache(): void {
  if (existsSync(DONE)) return;
  mkdirSync(CACHE, { recursive: true, mode: 0o711 });
  const argv = [
    join(CACHE, 'e2b-lock'),
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    import.meta.filename,
  ];
  execFileSync('flock', argv, { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function makeCache(): Promise<void> {
  if (existsSync(DONE)) return;
  const quiet = () => {};
  await down({ stateDir: STATE, purge: true }, quiet);
  rmSync(STATE, { recursive: true, force: true });
  linkImages(STATE, false);
  await up({ stateDir: STATE, listen: '127.0.0.1:0', domain: undefined, detach: true }, quiet);
  const context = mkdtempSync(join(tmpdir(), 'viv-e2b-'));
  try {
    const paths = nodePaths(STATE);
    const { url } = (await runningServer(paths))!;
    const viv = new Vivarium({ url, apiKey: readFileSync(paths.firstKey, 'utf8').trim() });
    writeFileSync(join(context, 'Dockerfile'), DOCKERFILE);
    await viv.images.build({ name: E2B_BASE, ...(await packContext(context)) });
    viv.close();
  } finally {
    rmSync(context, { recursive: true, force: true });
    await down({ stateDir: STATE, purge: false }, quiet);
  }
  writeFileSync(DONE, `complete: ${IMAGE_PARTS.join(' ')}\n`);
}

if (process.argv[1] === import.meta.filename) await makeCache();
