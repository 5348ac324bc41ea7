import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { z } from 'zod';

const FILE = 'builds.json';

const BuildSettings = z.strictObject({
  /** `node`: the steps of builds share the node's own network, for keys with the scope `admin`. */
  network: z.enum(['none', 'node']).default('none'),
});
export type BuildSettings = z.infer<typeof BuildSettings>;

/** What the node's operator allows builds of templates (`STATE/e2b/builds.json`). Throws `precondition_failed` for a file that can't be read. */
export function readBuildSettings(directory: string): BuildSettings {
  const path = join(directory, FILE);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return BuildSettings.parse({});
    throw thrown;
  }
  try {
    return BuildSettings.parse(JSON.parse(text));
  } catch (cause) {
    throw new VivError('precondition_failed', `${path} is not valid; it is one object: {"network": "none" or "node"}`, {
      cause,
    });
  }
}
