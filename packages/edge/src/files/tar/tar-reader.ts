import { VivError } from '@vivarium/protocol';
import { ByteSource } from './byte-source.ts';
import { applyPax, parsePax } from './pax.ts';
import { BLOCK_BYTES, FLAG, type TarEntry, type TarType } from './tar-entry.ts';
import { decodeTarHeader, type RawHeader, tarPadding } from './tar-header.ts';

const LONG_NAME_MAX_BYTES = 64 * 1024;
const PAX_MAX_BYTES = 1024 * 1024;

/** A member and its content. What is not read of it is skipped when the next member is asked for. */
export type TarMember = { entry: TarEntry; content: AsyncIterable<Uint8Array> };

type Extras = { name?: Buffer; link?: Buffer; pax?: Map<string, Buffer> };

/**
 * Reads ustar, pax and GNU archives as they stream in (tar(5)). Throws `invalid_archive` for what is damaged, cut short or of a kind
 * that can't be unpacked in a sandbox (devices, FIFOs, sparse files), naming the member.
 */
export async function* readTar(body: AsyncIterable<Uint8Array>): AsyncGenerator<TarMember> {
  const source = new ByteSource(body);
  const globals = new Map<string, Buffer>();
  let extras: Extras = {};
  try {
    for (;;) {
      const header = await nextHeader(source);
      if (!header) break;
      if (await takeExtra(source, header, extras, globals)) continue;
      const entry = entryOf(header, extras, globals);
      extras = {};
      const content = new Content(source, entry.size);
      yield { entry, content };
      await content.skip();
    }
    await source.drain();
  } finally {
    await source.cancel();
  }
}

/** Null at the end of the archive: a block of zeros, or the end of the stream between two members. */
async function nextHeader(source: ByteSource): Promise<RawHeader | null> {
  const block = await source.exactly(BLOCK_BYTES);
  if (!block) {
    if (source.taken === 0) throw new VivError('invalid_archive', 'the archive is empty');
    throw new VivError(
      'invalid_archive',
      `the archive is cut short after ${source.taken} bytes: its end mark is missing`,
    );
  }
  return decodeTarHeader(block);
}

/** Members that only tell something about the next one. */
async function takeExtra(
  source: ByteSource,
  header: RawHeader,
  extras: Extras,
  globals: Map<string, Buffer>,
): Promise<boolean> {
  switch (header.flag) {
    case FLAG.gnuLongName:
      extras.name = untilNul(await readSmall(source, header.size, LONG_NAME_MAX_BYTES));
      return true;
    case FLAG.gnuLongLink:
      extras.link = untilNul(await readSmall(source, header.size, LONG_NAME_MAX_BYTES));
      return true;
    case FLAG.pax:
      extras.pax = parsePax(await readSmall(source, header.size, PAX_MAX_BYTES));
      return true;
    case FLAG.paxGlobal:
      for (const [key, value] of parsePax(await readSmall(source, header.size, PAX_MAX_BYTES))) globals.set(key, value);
      return true;
    case FLAG.gnuVolume:
      return true;
    default:
      return false;
  }
}

async function readSmall(source: ByteSource, size: number, max: number): Promise<Buffer> {
  if (size > max)
    throw new VivError('invalid_archive', `a header of ${size} bytes: at most ${max} are read`, {
      details: { maximum: max },
    });
  const content = new Content(source, size);
  const parts: Uint8Array[] = [];
  for await (const chunk of content) parts.push(chunk);
  await content.skip();
  return Buffer.concat(parts);
}

function entryOf(header: RawHeader, extras: Extras, globals: Map<string, Buffer>): TarEntry {
  const name = extras.name ?? header.name;
  const type = typeOf(header.flag, name);
  const { mode, uid, gid } = header;
  const entry: TarEntry = {
    type,
    name,
    link: extras.link ?? header.link,
    mode,
    uid,
    gid,
    size: header.size,
    mtimeNs: BigInt(header.mtimeS) * 1_000_000_000n,
  };
  applyPax(entry, globals);
  if (extras.pax) applyPax(entry, extras.pax);
  if (entry.type === 'link' || entry.type === 'symlink' || entry.type === 'dir') entry.size = 0;
  if (entry.name.includes(0) || entry.link.includes(0))
    throw new VivError('invalid_archive', 'a member has a name with a NUL byte');
  return entry;
}

function typeOf(flag: number, name: Buffer): TarType {
  switch (flag) {
    case FLAG.file:
    case FLAG.contiguous:
      return name.at(-1) === 0x2f ? 'dir' : 'file';
    case FLAG.link:
      return 'link';
    case FLAG.symlink:
      return 'symlink';
    case FLAG.dir:
      return 'dir';
    default:
      throw new VivError(
        'invalid_archive',
        `member "${name}" is of type "${String.fromCharCode(flag)}", which can't be unpacked in a sandbox`,
        {
          details: { name: name.toString(), type: String.fromCharCode(flag) },
        },
      );
  }
}

function untilNul(text: Buffer): Buffer {
  const end = text.indexOf(0);
  return end < 0 ? text : text.subarray(0, end);
}

/** The bytes of one member, then its padding. */
class Content implements AsyncIterable<Uint8Array> {
  readonly #source: ByteSource;
  readonly #padding: number;
  #left: number;

  constructor(source: ByteSource, size: number) {
    this.#source = source;
    this.#left = size;
    this.#padding = tarPadding(size);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (this.#left > 0) yield await this.#next();
  }

  /** Past the rest of it. */
  async skip(): Promise<void> {
    while (this.#left > 0) await this.#next();
    if (this.#padding > 0 && !(await this.#source.exactly(this.#padding))) throw this.#cut();
  }

  async #next(): Promise<Buffer> {
    const chunk = await this.#source.some(this.#left);
    if (!chunk) throw this.#cut();
    this.#left -= chunk.length;
    return chunk;
  }

  #cut(): VivError {
    return new VivError(
      'invalid_archive',
      `the archive ends in the middle of a member, after ${this.#source.taken} bytes`,
    );
  }
}
