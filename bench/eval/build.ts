import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Vivarium } from '@vivarium/sdk';
import { packContext } from '@vivarium/sdk/node';

const STEPS = 10;
const FILES = 200;
const ROUNDS = 9;

/**
 * Builds an image of ten steps (files copied, commands run) on a node that has `base`, then again with nothing changed: the time of such a
 * build from the client's side, packing and sending the context included (median). The images are removed.
 */
export async function buildBench(
  viv: Vivarium,
  base: string,
): Promise<{ build_first_ms: number; build_cached_ms: number }> {
  const directory = mkdtempSync(join(tmpdir(), 'viv-bench-build-'));
  const name = `bench/build-${Date.now().toString(36)}@1`;
  try {
    writeContext(directory, base);
    const build = async () => {
      const began = performance.now();
      await viv.images.build({ name, ...(await packContext(directory)) });
      return performance.now() - began;
    };
    const first = await build();
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await build());
    times.sort((a, b) => a - b);
    return { build_first_ms: Math.round(first), build_cached_ms: Math.round(times[Math.floor(ROUNDS / 2)]!) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
    await viv.images.remove(name).catch(() => {});
  }
}

function writeContext(directory: string, base: string): void {
  const lines = [`FROM ${base}`, 'ENV BENCH=1', 'WORKDIR /bench'];
  for (let step = 0; step < STEPS; step++)
    lines.push(step % 2 === 0 ? `COPY part${step}/ part${step}/` : `RUN cat part${step - 1}/* > sum${step}`);
  writeFileSync(join(directory, 'Dockerfile'), `${lines.join('\n')}\n`);
  for (let file = 0; file < FILES; file++) {
    const part = join(directory, `part${(file % (STEPS / 2)) * 2}`);
    mkdirSync(part, { recursive: true });
    writeFileSync(join(part, `file${file}`), `${file}\n`.repeat(500));
  }
}
