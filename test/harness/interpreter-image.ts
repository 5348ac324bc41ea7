/**
 * The image of E2B's template `code-interpreter-v1` over that of `base` (e2b-image.ts), made once per machine and again when what it is
 * made of has changed: then only the steps from there on run.
 *
 *   interpreter-image.ts    as a program: makes the cache if it is not up to date (under a lock, see linkInterpreterImages)
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { down, nodePaths, runningServer, up } from '@vivarium/node';
import { Vivarium } from '@vivarium/sdk';
import { E2B_CODE_INTERPRETER, ensureE2bCodeInterpreter } from '../../scripts/demo/template-images.ts';
import { E2B_BASE_DIGEST, linkE2bImages } from './e2b-image.ts';
import { CACHE, linkStore } from './image-cache.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PARTS = ['interpreter', 'packages/layers/src/recipes/e2b-code-interpreter'];
const NOT_IN_IMAGE = /(^|\/)(__pycache__|test)\//;
const STATE = join(CACHE, `interpreter-state-${E2B_BASE_DIGEST}`);
const DONE = join(CACHE, `interpreter-done-${E2B_BASE_DIGEST}`);

/** Puts base and E2B images, the code interpreter's among them, into a fresh state directory. */
export function linkInterpreterImages(stateDir: string): void {
  if (!isMade(digestOfParts())) {
    const argv = [join(CACHE, 'interpreter-lock'), process.execPath, '--disable-warning=ExperimentalWarning'];
    execFileSync('flock', [...argv, import.meta.filename], { stdio: ['ignore', 'inherit', 'inherit'] });
  }
  linkStore(STATE, stateDir, false);
}

async function makeCache(): Promise<void> {
  const digest = digestOfParts();
  if (isMade(digest)) return;
  const quiet = () => {};
  await down({ stateDir: STATE, purge: false }, quiet);
  if (!existsSync(STATE)) linkE2bImages(STATE);
  await up({ stateDir: STATE, listen: '127.0.0.1:0', domain: undefined, detach: true }, quiet);
  try {
    const paths = nodePaths(STATE);
    const { url } = (await runningServer(paths))!;
    const viv = new Vivarium({ url, apiKey: readFileSync(paths.firstKey, 'utf8').trim() });
    await viv.images.remove(E2B_CODE_INTERPRETER).catch(quiet);
    await ensureE2bCodeInterpreter(viv, quiet);
    viv.close();
  } finally {
    await down({ stateDir: STATE, purge: false }, quiet);
  }
  writeFileSync(DONE, digest);
}

function isMade(digest: string): boolean {
  return existsSync(DONE) && readFileSync(DONE, 'utf8') === digest;
}

/** Of all files that get into the image. */
function digestOfParts(): string {
  const hash = createHash('sha256');
  for (const part of PARTS) {
    const files = readdirSync(join(ROOT, part), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !NOT_IN_IMAGE.test(path))
      .sort();
    for (const path of files) hash.update(path.slice(ROOT.length)).update('\0').update(readFileSync(path));
  }
  return hash.digest('hex');
}

if (process.argv[1] === import.meta.filename) await makeCache();
