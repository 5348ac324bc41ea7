import type { LayerMount } from '../drivers/driver.ts';
import type { Box } from './box.ts';

/**
 * Mounts and holds the layers of a sandbox, lowest first: those of its image, then those of the images over it. A layer that
 * comes twice counts where it is highest: what it shows there hides all that it shows below.
 */
export async function acquireLayers(box: Box): Promise<LayerMount[]> {
  const { context, row } = box;
  const releases: (() => void)[] = [];
  box.releaseLayers = () => {
    for (const release of releases.splice(0)) release();
  };
  const layers = new Map<string, LayerMount>();
  for (const name of [row.image, ...(row.overlay ?? [])]) {
    const acquired = await context.images.acquire(name);
    releases.push(acquired.release);
    for (const layer of acquired.layers) {
      layers.delete(layer.digest);
      layers.set(layer.digest, layer);
    }
  }
  row.layers = [...layers.keys()];
  return [...layers.values()];
}
