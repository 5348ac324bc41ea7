import { type MountRequest, VivError } from '@vivarium/protocol';
import type { LayerMount } from '../drivers/driver.ts';
import type { Box } from './box.ts';

/** Images mounted in one running sandbox. */
const MOUNTS_MAX = 16;

/**
 * Mounts a directory of an image, read-only, in a running sandbox. Written down first, so that no restart forgets that its layer is
 * used; it stays in use until the sandbox ends.
 */
export function mountImage(box: Box, { image: name, from, at }: MountRequest): Promise<void> {
  return box.exclusive(async () => {
    box.requireCell();
    const mounts = box.row.mounts ?? [];
    if (mounts.some((mount) => mount.at === at))
      throw new VivError('path_exists', `an image is mounted on ${at} already`, { details: { at } });
    if (mounts.length >= MOUNTS_MAX)
      throw new VivError('quota_exceeded', `a sandbox has at most ${MOUNTS_MAX} images mounted`, {
        details: { maximum: MOUNTS_MAX },
      });
    const { layers, release } = await box.context.images.acquire(name);
    const layer = layers[0]!;
    const { layers: before } = box.row;
    try {
      if (layers.length > 1)
        throw new VivError('unsupported', `only an image of one layer can be mounted; ${name} has ${layers.length}`);
      box.change({
        mounts: [...mounts, { image: name, at, from, digest: layer.digest }],
        layers: [...new Set([...before, layer.digest])],
      });
      await box.handle!.attachLayer(layer, from, at).catch((error) => {
        box.change({ mounts, layers: before });
        throw error;
      });
      box.note('state', { mounted: name, from, at });
    } catch (error) {
      release();
      throw error;
    }
    // A layer that it holds is held already: mounting it again and again must not pile up.
    if (before.includes(layer.digest)) return release();
    const releaseBefore = box.releaseLayers;
    box.releaseLayers = () => {
      releaseBefore?.();
      release();
    };
  });
}

/** Takes away what was mounted there. Nothing there is fine. */
export function unmountImage(box: Box, at: string): Promise<void> {
  return box.exclusive(async () => {
    box.requireCell();
    const mounts = box.row.mounts ?? [];
    if (!mounts.some((mount) => mount.at === at)) return;
    await box.handle!.detachLayer(at);
    box.change({ mounts: mounts.filter((mount) => mount.at !== at) });
    box.note('state', { unmounted: at });
  });
}

/**
 * Mounts in its new cell what was mounted in the former one, in the same order. What can't be mounted any more (its own programs moved the
 * directory away) is told in the journal and left out: that must not keep the sandbox from running.
 */
export async function mountAgain(box: Box, layers: readonly LayerMount[]): Promise<void> {
  const mounts = box.row.mounts ?? [];
  for (const { image, at, from = '/', digest } of mounts) {
    const layer = layers.find((each) => each.digest === digest);
    try {
      if (!layer) throw new VivError('image_not_found', `${image} is not known by its layer`);
      await box.handle!.attachLayer(layer, from, at);
    } catch (thrown) {
      const { code, message } = VivError.from(thrown);
      if (code === 'sandbox_lost') throw thrown;
      box.note('state', { unmounted: at, error: { code, message } });
      box.change({ mounts: (box.row.mounts ?? []).filter((mount) => mount.at !== at) });
    }
  }
}
