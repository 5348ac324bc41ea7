import type { LayerMount } from '../drivers/driver.ts';
import type { Box } from './box.ts';

/** All layers of a sandbox that had its cell before: what it was made of, and what is mounted in it. They are held already. */
export async function layersAgain(box: Box): Promise<{ root: LayerMount[]; all: LayerMount[] }> {
  const { context, row } = box;
  const { layers, release } = await context.images.acquireLayers(row.layers);
  release();
  return { root: layers.slice(0, row.rootLayers ?? layers.length), all: layers };
}

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
  row.rootLayers = layers.size;
  return [...layers.values()];
}
