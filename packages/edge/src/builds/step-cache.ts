import type { Base } from '@vivarium/builder';
import type { ImageStore } from '@vivarium/layers/store.ts';
import { type Image, type PruneReport, VivError } from '@vivarium/protocol';

const PREFIX = 'cache/';
/** Beyond, the steps that were not used for the longest time go. */
const IMAGES_MAX = 2000;
const KEY_CHARS = 40;

export type Made = { base: Base; cached: boolean };

/** Images of single steps of builds, by the key of what made them. One build makes a step, others that need it wait for it. */
export class StepCache {
  readonly #images: ImageStore;
  readonly #making = new Map<string, Promise<Image>>();
  /** When each was used last, as far as this process knows. */
  readonly #used = new Map<string, number>();
  #clock = 0;

  constructor(images: ImageStore) {
    this.#images = images;
  }

  name(key: string): string {
    return `${PREFIX}${key.slice(0, KEY_CHARS)}@1`;
  }

  /** The step's image; `make` makes one of that name when it is not there. `fresh`: make it even so. */
  async get(key: string, fresh: boolean, signal: AbortSignal, make: (name: string) => Promise<Image>): Promise<Made> {
    const name = this.name(key);
    for (;;) {
      signal.throwIfAborted();
      const making = this.#making.get(name);
      if (!making) break;
      // Whoever waits makes it after all when the other was canceled or ran out of time.
      const image = await untilAborted(making, signal).catch((thrown) => {
        signal.throwIfAborted();
        if (isFinal(thrown)) throw thrown;
        return null;
      });
      if (image) return this.#made(image, true);
    }
    if (!fresh && this.#images.has(name)) return this.#made(this.#images.get(name), true);
    const making = this.#make(name, fresh, make);
    this.#making.set(name, making);
    making.catch(() => {});
    try {
      return this.#made(await making, false);
    } finally {
      this.#making.delete(name);
    }
  }

  /** Removes what nothing uses now. */
  async prune(keep = 0): Promise<PruneReport> {
    const steps = this.#steps();
    const removed: string[] = [];
    const before = this.#layers();
    for (const { name } of steps.slice(0, Math.max(0, steps.length - keep))) {
      if (this.#making.has(name) || !(await this.#remove(name))) continue;
      removed.push(name);
    }
    const after = this.#layers();
    let bytes = 0;
    for (const [digest, size] of before) if (!after.has(digest)) bytes += size;
    return { removed, bytes };
  }

  /** Called after builds. */
  async bound(): Promise<void> {
    if (this.#steps().length > IMAGES_MAX) await this.prune(Math.floor(IMAGES_MAX * 0.9));
  }

  async #make(name: string, fresh: boolean, make: (name: string) => Promise<Image>): Promise<Image> {
    if (fresh && this.#images.has(name) && !(await this.#remove(name)))
      return make(`${name.replace(/@1$/, '')}@${Date.now().toString(36)}`);
    return make(name);
  }

  async #remove(name: string): Promise<boolean> {
    try {
      await this.#images.remove(name);
      this.#used.delete(name);
      return true;
    } catch (thrown) {
      const { code } = VivError.from(thrown);
      if (code === 'image_in_use' || code === 'image_not_found') return false;
      throw thrown;
    }
  }

  #made(image: Image, cached: boolean): Made {
    this.#used.set(image.name, ++this.#clock);
    return { base: baseOf(image), cached };
  }

  /** Least recently used first; what this process did not use counts as older, by age. */
  #steps(): Image[] {
    const used = ({ name }: Image) => this.#used.get(name) ?? 0;
    const steps = this.#images.list({ all: true }).filter(({ name }) => name.startsWith(PREFIX));
    return steps.sort((a, b) => used(a) - used(b) || (a.createdAt < b.createdAt ? -1 : 1));
  }

  #layers(): Map<string, number> {
    const images = this.#images.list({ all: true });
    return new Map(images.flatMap(({ layers }) => layers.map(({ digest, sizeBytes }) => [digest, sizeBytes] as const)));
  }
}

export function baseOf({ name, layers, config }: Image): Base {
  return { image: name, layers: layers.map(({ digest }) => digest), config };
}

/** A step that failed by its own doing fails for all who wait for it. */
function isFinal(thrown: unknown): boolean {
  const error = VivError.from(thrown);
  const outcome = (error.details.outcome as { type?: string } | undefined)?.type;
  return error.code === 'build_failed' && (outcome === 'exited' || outcome === 'signaled' || outcome === 'oom');
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
