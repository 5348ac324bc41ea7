import { BUILTIN_TEMPLATES } from '@vivarium/protocol/builtin-templates.ts';
import type { Vivarium } from '@vivarium/sdk';

export const E2B_BASE = BUILTIN_TEMPLATES.base.image;
export const E2B_CODE_INTERPRETER = BUILTIN_TEMPLATES['code-interpreter-v1'].image;
const SAY_EVERY_MS = 3000;

/** Makes the image of E2B's template `base` where it is missing, telling what it does every few seconds. Returns its name. */
export async function ensureE2bBase(viv: Vivarium, say: (line: string) => void): Promise<string> {
  return ensure(viv, 'base', say);
}

/** The same for `code-interpreter-v1`, which lies over `base`. */
export async function ensureE2bCodeInterpreter(viv: Vivarium, say: (line: string) => void): Promise<string> {
  return ensure(viv, 'code-interpreter-v1', say);
}

async function ensure(viv: Vivarium, name: string, say: (line: string) => void): Promise<string> {
  let said = Number.NEGATIVE_INFINITY;
  const image = await viv.templates.install(name, {
    onProgress: (progress) => {
      if (said === Number.NEGATIVE_INFINITY) say(`making the image of template ${name} (a minute or two, once) …`);
      if (performance.now() - said < SAY_EVERY_MS) return;
      said = performance.now();
      say(`  ${progress.stage}: ${progress.message}`);
    },
  });
  return image.name;
}
