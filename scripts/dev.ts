/**
 * `npm run dev`: a node of its own for a fast loop, started again when a server source changes. Sandboxes survive each
 * restart (that is what adoption is for). Ctrl-C ends it with everything it ran.
 */
import { watch } from 'node:fs';
import { join, resolve } from 'node:path';
import { down, nodePaths, stopServer, up } from '@vivarium/node';

const ROOT = resolve(import.meta.dirname, '..');
const STATE = process.env.VIV_STATE_DIR ?? '/var/lib/vivarium-dev';
const LISTEN = '127.0.0.1:7701';
const SETTLE_MS = 300;

const say = (line: string) => process.stderr.write(`${line}\n`);
let timer: NodeJS.Timeout | undefined;
let work = start();

for (const name of ['protocol', 'core', 'layers', 'edge', 'apiserver', 'node']) {
  watch(join(ROOT, 'packages', name, 'src'), { recursive: true }, (_event, file) => {
    if (!file?.endsWith('.ts') || file.endsWith('.test.ts')) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      work = work.then(restart);
    }, SETTLE_MS);
  });
}
process.on('SIGINT', async () => {
  await work;
  await down({ stateDir: STATE, purge: false }, say);
  process.exit(0);
});

async function start(): Promise<void> {
  try {
    await up({ stateDir: STATE, listen: LISTEN, domain: undefined, detach: true }, say);
  } catch (error) {
    say(`dev: ${(error as Error).message}; waiting for the next change`);
  }
}

async function restart(): Promise<void> {
  await stopServer(nodePaths(STATE));
  await start();
}
