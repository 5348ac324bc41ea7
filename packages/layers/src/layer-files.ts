import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { syncDirectory } from './atomic-file.ts';
import { fileDigest } from './digest.ts';
import { VerifiedStamps } from './verified-stamps.ts';

const PREFIX = 'sha256:';
const SUFFIX = '.erofs';

/** The layer files of a node: `<sha256 hex>.erofs`, immutable, checked against their names. */
export class LayerFiles {
  readonly #directory: string;
  readonly #stamps: VerifiedStamps;
  readonly #checking = new Map<string, Promise<void>>();

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#directory = directory;
    this.#stamps = new VerifiedStamps(join(directory, 'verified.json'));
  }

  path(digest: string): string {
    return join(this.#directory, `${digest.slice(PREFIX.length)}${SUFFIX}`);
  }

  /** Takes a finished file in under its digest. A layer that is there already and right is kept; one that is damaged is replaced. `known`: its digest, if it was computed while the file was written. */
  async admit(file: string, known?: string): Promise<{ digest: string; sizeBytes: number }> {
    const digest = known ?? (await fileDigest(file));
    const sizeBytes = statSync(file).size;
    const path = this.path(digest);
    if (existsSync(path) && (await this.#isRight(digest))) return { digest, sizeBytes };
    renameSync(file, path);
    await syncDirectory(this.#directory);
    this.#stamps.remember(digest, path);
    return { digest, sizeBytes };
  }

  /** Is the file still the one whose digest was checked? One stat: made for the path of every create. */
  isKnownGood(digest: string): boolean {
    return this.#stamps.matches(digest, this.path(digest));
  }

  /** Checks the digest unless the file is the one that was checked before. Throws `image_corrupt`, which names the layer. */
  async ensureGood(digest: string): Promise<void> {
    if (!this.isKnownGood(digest)) await this.verify(digest);
  }

  /** Reads the whole file and compares its digest; one reader per layer. Throws `image_corrupt`, which names the layer. */
  verify(digest: string): Promise<void> {
    const running = this.#checking.get(digest);
    if (running) return running;
    const check = this.#verify(digest).finally(() => this.#checking.delete(digest));
    this.#checking.set(digest, check);
    return check;
  }

  /** Not durable at once: a layer that comes back with a power cut is one that no image needs, and goes when the store is opened. */
  remove(digest: string): void {
    this.#stamps.forget([digest]);
    rmSync(this.path(digest), { force: true });
  }

  /** Writes down what is known of the files. */
  close(): Promise<void> {
    return this.#stamps.close();
  }

  /** Digests of all layer files there are. */
  list(): string[] {
    return readdirSync(this.#directory)
      .filter((name) => /^[0-9a-f]{64}\.erofs$/.test(name))
      .map((name) => `${PREFIX}${name.slice(0, -SUFFIX.length)}`);
  }

  async #isRight(digest: string): Promise<boolean> {
    return this.ensureGood(digest).then(
      () => true,
      () => false,
    );
  }

  async #verify(digest: string): Promise<void> {
    const path = this.path(digest);
    if (!existsSync(path)) throw corrupt(digest, path, 'its file is missing');
    const before = this.#stamps.stampOf(path);
    const actual = await fileDigest(path).catch((cause) => {
      throw corrupt(digest, path, `its file can't be read (${cause.message})`, cause);
    });
    if (actual !== digest) {
      this.#stamps.forget([digest]);
      throw corrupt(digest, path, `its file has the digest ${actual}`);
    }
    this.#stamps.remember(digest, path, before);
  }
}

function corrupt(digest: string, path: string, what: string, cause?: unknown): VivError {
  return new VivError('image_corrupt', `layer ${digest} is corrupt: ${what}`, {
    details: { layer: digest, path },
    cause,
  });
}
