import type { ImageStore } from '@vivarium/layers/store.ts';
import { ImageConfig, VivError } from '@vivarium/protocol';
import { BLOCK_BYTES } from '../files/tar/tar-entry.ts';
import { encodeTarHeader } from '../files/tar/tar-header.ts';

const NAME = 'cache/scratch@1';
/** What a sandbox mounts its own file systems on. */
const DIRECTORIES = ['./', './dev/', './etc/', './proc/', './tmp/'];

/** The image that `FROM scratch` stands for: nothing but the directories that every sandbox has. */
export async function scratchImage(images: ImageStore, signal: AbortSignal): Promise<string> {
  try {
    if (!images.has(NAME))
      for await (const _ of images.importTar({ name: NAME, config: ImageConfig.parse({}) }, archive(), signal));
  } catch (thrown) {
    if (VivError.from(thrown).code !== 'image_exists') throw thrown;
  }
  return NAME;
}

async function* archive(): AsyncGenerator<Uint8Array> {
  for (const name of DIRECTORIES) {
    const mode = name === './tmp/' ? 0o1777 : 0o755;
    yield encodeTarHeader({
      type: 'dir',
      name: Buffer.from(name),
      link: Buffer.alloc(0),
      mode,
      uid: 0,
      gid: 0,
      size: 0,
      mtimeNs: 0n,
    });
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}
