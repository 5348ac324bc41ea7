/**
 * `npm run demo`: a node of its own, 64 sandboxes that each compile and run a C program, run a Python test file and make a
 * git commit; every result is checked for the value that only this sandbox can give. Leaves nothing running; the node's state
 * stays in /var/lib/vivarium-demo so that the base image is there the next time.
 */
import { readFileSync } from 'node:fs';
import { down, nodePaths, runningServer, up } from '@vivarium/node';
import { Vivarium } from '@vivarium/sdk';
import { ensureBaseImage } from './demo/base-image.ts';
import { Fleet } from './demo/fleet.ts';
import { printTable } from './demo/table.ts';

const STATE_DIR = process.env.VIV_DEMO_STATE_DIR ?? '/var/lib/vivarium-demo';
const SANDBOXES = 64;
const AT_ONCE = 8;

const say = (line: string) => process.stderr.write(`${line}\n`);
const paths = nodePaths(STATE_DIR);
let ending: Promise<void> | undefined;
const end = () => {
  ending ??= down({ stateDir: STATE_DIR, purge: false }, say);
  return ending;
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void end().finally(() => process.exit(130)));
}

try {
  await up({ stateDir: STATE_DIR, listen: '127.0.0.1:0', domain: undefined, detach: true }, say);
  const server = await runningServer(paths);
  if (server === undefined) throw new Error('the node went away');
  const viv = new Vivarium({ url: server.url, apiKey: readFileSync(paths.firstKey, 'utf8').trim() });
  try {
    const image = await ensureBaseImage(viv, say);
    const fleet = new Fleet(viv, image);
    const started = performance.now();
    await fleet.run(SANDBOXES, AT_ONCE);
    printTable(fleet, (performance.now() - started) / 1000);
    process.exitCode = fleet.right === SANDBOXES ? 0 : 1;
  } finally {
    viv.close();
  }
} catch (error) {
  say(`demo: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await end();
}
