import type { ImportRequest, Vivarium } from '@vivarium/sdk';

export const E2B_BASE = 'e2b/base@1';
export const E2B_CODE_INTERPRETER = 'e2b/code-interpreter@1';
const SAY_EVERY_MS = 3000;

/** Makes the image of E2B's template `base` where it is missing, telling what it does every few seconds. Returns its name. */
export async function ensureE2bBase(viv: Vivarium, say: (line: string) => void): Promise<string> {
  return ensure(viv, { name: E2B_BASE, source: { type: 'builtin', name: 'e2b-base' } }, say);
}

/** The same for `code-interpreter-v1`, which lies over `base`. */
export async function ensureE2bCodeInterpreter(viv: Vivarium, say: (line: string) => void): Promise<string> {
  return ensure(viv, { name: E2B_CODE_INTERPRETER, source: { type: 'builtin', name: 'e2b-code-interpreter' } }, say);
}

async function ensure(viv: Vivarium, request: ImportRequest, say: (line: string) => void): Promise<string> {
  for await (const image of viv.images.list()) if (image.name === request.name) return request.name;
  say(`making ${request.name} (a minute or two, once) …`);
  let said = Number.NEGATIVE_INFINITY;
  await viv.images.import(request, {
    onProgress: (progress) => {
      if (performance.now() - said < SAY_EVERY_MS) return;
      said = performance.now();
      say(`  ${progress.stage}: ${progress.message}`);
    },
  });
  return request.name;
}
