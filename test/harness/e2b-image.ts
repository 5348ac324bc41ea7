/**
 * The image of E2B's template `base`, made once per machine as `viv template install base` makes it, and kept beside the cached base
 * image (image-cache.ts). Test nodes get hard links of both.
 *
 *   e2b-image.ts    as a program: makes the cache if it is missing (under a lock, see linkE2bImages)
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { down, nodePaths, runningServer, up } from '@vivarium/node';
import { Vivarium } from '@vivarium/sdk';
import { ensureE2bBase } from '../../scripts/demo/template-images.ts';
import { CACHE, IMAGE_PARTS, linkImages, linkStore } from './image-cache.ts';

export { E2B_BASE } from '../../scripts/demo/template-images.ts';

const RECIPES = resolve(import.meta.dirname, '../../packages/layers/src');
/** Another recipe makes another image: what it is made of names it. */
export const E2B_BASE_DIGEST = createHash('sha256')
  .update(readFileSync(join(RECIPES, 'recipes/e2b-base.sh')))
  .update(readFileSync(join(RECIPES, 'importers/builtin.ts')))
  .digest('hex')
  .slice(0, 12);
const STATE = join(CACHE, `e2b-state-${E2B_BASE_DIGEST}`);
const DONE = join(CACHE, `e2b-done-${E2B_BASE_DIGEST}`);

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
  try {
    const paths = nodePaths(STATE);
    const { url } = (await runningServer(paths))!;
    const viv = new Vivarium({ url, apiKey: readFileSync(paths.firstKey, 'utf8').trim() });
    await ensureE2bBase(viv, quiet);
    viv.close();
  } finally {
    await down({ stateDir: STATE, purge: false }, quiet);
  }
  writeFileSync(DONE, `complete: ${IMAGE_PARTS.join(' ')}\n`);
}

if (process.argv[1] === import.meta.filename) await makeCache();
