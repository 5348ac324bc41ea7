import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { type IgnoreRules, parseIgnore } from '@vivarium/protocol/ignore-rules.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import tar from 'tar-stream';
import { blocks, packInto, type TreeProgress } from './pack-tree.ts';

export type PackedContext = {
  context: AsyncIterable<Uint8Array>;
  /** Its path within the context, for the request. */
  dockerfile: string;
};

/** Where a Dockerfile from outside the context travels. The node shows this directory to no COPY. */
const OUTSIDE = '.vivarium-build/Dockerfile';

/**
 * A directory as the context of a build: without what its .dockerignore leaves out, links as links. `dockerfile` (default `Dockerfile` in it)
 * may lie outside. Pass both parts of the result to `images.build`.
 */
export async function packContext(
  directory: string,
  options: { dockerfile?: string | undefined; onProgress?: (progress: TreeProgress) => void } = {},
): Promise<PackedContext> {
  const root = resolve(directory);
  if (!(await stat(root).catch(() => null))?.isDirectory())
    throw new VivError('invalid_argument', `the build context ${directory} is no directory`);
  const file = options.dockerfile === undefined ? join(root, 'Dockerfile') : resolve(options.dockerfile);
  const source = await readFile(file).catch((cause) => {
    throw new VivError('dockerfile_invalid', `there is no Dockerfile ${options.dockerfile ?? file}`, {
      hint: 'Name it with -f FILE (`dockerfile`).',
      cause,
    });
  });
  const inside = relative(root, file);
  const isOutside = inside.startsWith(`..${sep}`) || isAbsolute(inside);
  const dockerfile = isOutside ? OUTSIDE : inside.split(sep).join('/');
  const ownIgnore = await readFile(`${file}.dockerignore`).catch(() => null);
  const text = ownIgnore ?? (await readFile(join(root, '.dockerignore')).catch(() => ''));
  const rules = parseIgnore(text.toString());
  const always = new Set([dockerfile, `${dockerfile}.dockerignore`, '.dockerignore']);
  const pack = tar.pack();
  const skip = (path: string, isDirectory: boolean) =>
    path !== '' && !always.has(path) && rules.ignores(path) && !(isDirectory && mayHold(rules, path, always));
  const extra = async () => {
    if (!isOutside) return;
    pack.entry({ name: OUTSIDE }, source);
    if (ownIgnore) pack.entry({ name: `${OUTSIDE}.dockerignore` }, ownIgnore);
  };
  packInto(pack, root, { skip, ...(options.onProgress && { onProgress: options.onProgress }) }, extra);
  return { context: blocks(pack), dockerfile };
}

/** An ignored directory is looked into when an exception, or what always comes along, may lie in it. */
function mayHold(rules: IgnoreRules, path: string, always: ReadonlySet<string>): boolean {
  return rules.hasExceptions || [...always].some((each) => each.startsWith(`${path}/`));
}
