import type { Volume, VolumeCreateInput } from '@vivarium/protocol/volume.ts';
import type { Context } from './context.ts';
import { pages } from './page.ts';
import { VolumeFiles } from './volume-files.ts';

/**
 * Volumes: files that outlive sandboxes and that any number of containers share. A volume is named among those of an API key; `volume` is
 * its name or its id everywhere.
 *
 * ```ts
 * await viv.volumes.create({ name: 'cache', sizeMiB: 2048 });
 * const sandbox = await viv.sandboxes.create({ image, volumes: [{ name: 'cache', path: '/mnt/cache' }] });
 * ```
 */
export class Volumes {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** `volume_exists` when this key has one of that name. */
  create(request: VolumeCreateInput): Promise<Volume> {
    return this.#context.http.json('POST', '/v1/volumes', { json: request });
  }

  /** In the order in which they were made. */
  list(): AsyncGenerator<Volume> {
    return pages<Volume>(this.#context.http, '/v1/volumes');
  }

  get(volume: string): Promise<Volume> {
    return this.#context.http.json('GET', at(volume));
  }

  /** With all that is in it. `volume_in_use` while live sandboxes, also paused ones, have it. */
  async remove(volume: string): Promise<void> {
    await this.#context.http.json('DELETE', at(volume));
  }

  /** Its files, without a sandbox. */
  files(volume: string): VolumeFiles {
    return new VolumeFiles(this.#context, `${at(volume)}/files`);
  }
}

function at(volume: string): string {
  return `/v1/volumes/${encodeURIComponent(volume)}`;
}
