import { fileURLToPath } from 'node:url';
import { VivError } from '@vivarium/protocol';
import { LAYER_LIMITS } from '../limits.ts';
import { runTool } from '../tool.ts';
import type { NormaliseRequest, NormaliseResult } from './normalise.ts';

const MAIN = fileURLToPath(new URL('./normalise-main.ts', import.meta.url));

type Answer = { result: NormaliseResult } | { error: { code: string; message: string } };

/** Makes a tree fit to become a layer (normalise.ts), in a child process. Throws `invalid_image` when it is too large or has paths too long for any tool. */
export async function normalise(
  request: Omit<NormaliseRequest, 'maxEntries' | 'maxBytes'>,
  signal: AbortSignal,
): Promise<NormaliseResult> {
  const full: NormaliseRequest = {
    ...request,
    maxEntries: LAYER_LIMITS.maxLayerEntries,
    maxBytes: LAYER_LIMITS.maxLayerBytes,
  };
  let output = '';
  await runTool(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, JSON.stringify(full)], {
    signal,
    package: 'nodejs',
    onStdout: (chunk) => {
      output += chunk.toString('utf8');
    },
  });
  const answer = JSON.parse(output) as Answer;
  if ('result' in answer) return answer.result;
  const { code, message } = answer.error;
  if (code === 'too_large') throw new VivError('invalid_image', `the tree is too large for a layer: ${message}`);
  if (code === 'ENAMETOOLONG') throw new VivError('invalid_image', 'the tree has a path longer than 4096 bytes');
  if (code === 'ENOSPC' || code === 'EDQUOT') throw Object.assign(new Error(message), { code });
  throw new VivError('internal', `the tree could not be read: ${message}`);
}
