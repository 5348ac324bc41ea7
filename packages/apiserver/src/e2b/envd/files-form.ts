import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { VivError } from '@vivarium/protocol';
import { FewAtOnce } from './few-at-once.ts';
import { StreamChunks } from './stream-chunks.ts';

const FILES_MAX = 10_000;
/** Each file that is written is a process in the sandbox: many small ones come in one chunk. */
const FILES_AT_ONCE = 4;
/** Parts that are no files are read and dropped. */
const FIELDS_MAX = 1000;
const FIELD_BYTES_MAX = 65_536;
const HEADER_PAIRS_MAX = 100;

/** Takes one file of a form: its name in the form, if it has one there, and its content. */
export type TakeFile<T> = (name: string | undefined, content: AsyncIterable<Uint8Array>) => Promise<T>;

/**
 * The parts named `file` of a multipart form, one after the other, as they come. The first failure ends it: files that were complete stay.
 * Throws `invalid_argument` for what is no form, `payload_too_large`, and what the body or `take` throws.
 */
export async function takeForm<T>(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Uint8Array>,
  take: TakeFile<T>,
): Promise<T[]> {
  const parser = parserFor(headers);
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const broken = new Broken();
  const fail = (error: unknown) => {
    failure.reject(error);
    broken.set(error);
  };
  const taken: Promise<T>[] = [];
  const turns = new FewAtOnce(FILES_AT_ONCE);
  let over = false;
  // Parts come one after the other: when the next begins, all of those before it is with whoever takes them.
  let current: Readable | undefined;
  parser.on('file', (_field, stream, filename) => {
    current = stream;
    const content = new StreamChunks(stream, 'error reading form');
    const one = turns.run(() => (over ? failure.promise : take(plainName(filename), content)));
    one.catch(fail);
    taken.push(one);
  });
  parser.on('error', (error) => fail(notAForm(error as Error)));
  for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
    parser.on(limit, () => fail(new VivError('payload_too_large', `the form has more than ${FILES_MAX} files`)));
  const finished = once(parser, 'finish');
  finished.catch(() => {});
  try {
    await Promise.race([feed(parser, body, turns, broken).then(() => finished), failure.promise]);
    return await Promise.all(taken);
  } catch (error) {
    over = true;
    fail(error);
    current?.destroy(VivError.from(error));
    await Promise.allSettled(taken);
    throw error;
  }
}

function parserFor(headers: IncomingHttpHeaders): BusboyInstance {
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      preservePath: true,
      // A form may hold the content as a field without a name of its own.
      isPartAFile: (field) => field === 'file',
      limits: {
        files: FILES_MAX,
        fields: FIELDS_MAX,
        fieldSize: FIELD_BYTES_MAX,
        headerPairs: HEADER_PAIRS_MAX,
      },
    });
  } catch (error) {
    throw notAForm(error as Error);
  }
}

async function feed(
  parser: BusboyInstance,
  body: AsyncIterable<Uint8Array>,
  turns: FewAtOnce,
  broken: Broken,
): Promise<void> {
  for await (const chunk of body) {
    if (!parser.write(chunk)) await broken.or(once(parser, 'drain'));
    await broken.or(turns.noneWaits());
  }
  parser.end();
}

/** The first failure. A promise of it would keep something of every wait that was raced with it, until the form ends. */
class Broken {
  #error: { thrown: unknown } | undefined;
  #wake: ((error: unknown) => void) | undefined;

  set(thrown: unknown): void {
    this.#error ??= { thrown };
    this.#wake?.(this.#error.thrown);
  }

  /** Resolves when `waited` does; rejects when something fails before. One caller at a time. */
  or(waited: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#wake = reject;
      waited.then(() => resolve(), reject);
      if (this.#error) reject(this.#error.thrown);
    });
  }
}

/** Form data writes these three characters escaped, and no others (HTML, "multipart/form-data encoding algorithm"). */
function plainName(filename: string | undefined): string | undefined {
  return filename?.replace(/%22|%0D|%0A/gi, (escaped) => decodeURIComponent(escaped));
}

function notAForm(error: Error): VivError {
  return error instanceof VivError ? error : new VivError('invalid_argument', `error reading form: ${error.message}`);
}
