import type { Vivarium } from '@vivarium/sdk';

export const BASE_IMAGE = 'base/debian@12';
const SAY_EVERY_MS = 3000;

/** Makes the base image where it is missing, telling what it does every few seconds. Returns its name. */
export async function ensureBaseImage(viv: Vivarium, say: (line: string) => void): Promise<string> {
  for await (const image of viv.images.list()) {
    if (image.name === BASE_IMAGE) return BASE_IMAGE;
  }
  say(`making ${BASE_IMAGE} (Python, git, gcc; about a minute, once) …`);
  let said = Number.NEGATIVE_INFINITY;
  await viv.images.import(
    { name: BASE_IMAGE, source: { type: 'builtin', name: 'base' } },
    {
      onProgress: (progress) => {
        if (performance.now() - said < SAY_EVERY_MS) return;
        said = performance.now();
        say(`  ${progress.stage}: ${progress.message}`);
      },
    },
  );
  return BASE_IMAGE;
}
