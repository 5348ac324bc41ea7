import type { Readable } from 'node:stream';
import { type Entry, VivError, type WatchEvent } from '@vivarium/protocol';
import type { Cell } from '../cell/cell.ts';
import type { Accounts, As, FilePath, FileService, WriteOptions } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { requireAwake } from '../lifecycle/wake.ts';
import { AccountReader } from './account-reader.ts';
import { archive } from './archive.ts';
import { entryView, joinPath, pathRecord, watchView } from './entry-view.ts';
import { followRead, type Note } from './followed-read.ts';
import { Tally } from './tally.ts';
import { unarchive } from './unarchive.ts';

/** Whose operation it is. */
type Acting = { user: string | undefined; privileged?: boolean };

/** Files inside sandboxes. Every path is resolved by the guest, as the user named; every operation is journalled. */
export class Files implements FileService {
  readonly #context: EdgeContext;
  readonly #accounts: AccountReader;

  constructor(context: EdgeContext) {
    this.#context = context;
    this.#accounts = new AccountReader(context.clock);
  }

  stat(sandbox: string, path: FilePath, options: As & { follow: boolean; resolve?: boolean }): Promise<Entry> {
    const { follow, resolve = false } = options;
    return this.#op(sandbox, 'stat', path, options, async (cell, as) =>
      entryView(await cell.stat(path, { ...as, follow, resolve }), Buffer.from(path)),
    );
  }

  async accounts(sandbox: string, options: { fresh?: boolean } = {}): Promise<Accounts> {
    return this.#accounts.of(await requireAwake(this.#context, sandbox), options.fresh ?? false);
  }

  async *list(
    sandbox: string,
    path: FilePath,
    options: As & { depth: number; resolve?: boolean; metadata?: boolean },
  ): AsyncGenerator<Entry> {
    const { box, cell, as } = await this.#begin(sandbox, options);
    const { depth, resolve = false, metadata = false } = options;
    const journal = this.#journal(box, 'list', path, as);
    let entries = 0;
    box.open += 1;
    try {
      for await (const entry of cell.list(path, { ...as, depth, resolve, metadata })) {
        entries += 1;
        yield entryView(entry, joinPath(path, entry.name));
      }
      journal({ entries });
    } catch (error) {
      journal({ entries }, error);
      throw error;
    } finally {
      box.open -= 1;
      box.touch();
    }
  }

  async read(
    sandbox: string,
    path: FilePath,
    options: As & { offset?: number; length?: number },
  ): Promise<{ entry: Entry; stream: Readable }> {
    const { box, cell, as } = await this.#begin(sandbox, options);
    const journal = this.#journal(box, 'read', path, as);
    const { offset, length } = options;
    const tally = new Tally();
    try {
      const { entry, stream } = await cell.read(path, {
        ...as,
        onChunk: (chunk) => tally.add(chunk),
        ...(offset === undefined ? {} : { offset }),
        ...(length === undefined ? {} : { length }),
      });
      const whole = length ?? entry.size - (offset ?? 0);
      followRead(box, stream, tally, journal, offset ? { offset } : {}, whole);
      return { entry: entryView(entry, Buffer.from(path)), stream };
    } catch (error) {
      journal({}, error);
      throw error;
    }
  }

  async write(
    sandbox: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    options: As & WriteOptions,
  ): Promise<Entry> {
    const { user: _, privileged: __, append, offset, ...rest } = options;
    const tally = new Tally();
    const write = async (cell: Cell, as: Acting) => {
      const atomic = !append && offset === undefined;
      const entry = await cell.write(path, tally.through(body), {
        ...as,
        ...rest,
        append,
        offset,
        atomic,
        parents: true,
      });
      return entryView(entry, Buffer.from(path));
    };
    return this.#op(sandbox, append ? 'append' : 'write', path, options, write, () => ({
      bytes: tally.bytes,
      sha256: tally.sha256(),
    }));
  }

  mkdir(
    sandbox: string,
    path: FilePath,
    options: As & { mode?: number; parents: boolean; exclusive: boolean },
  ): Promise<Entry> {
    const { mode, parents, exclusive } = options;
    return this.#op(sandbox, 'mkdir', path, options, async (cell, as) =>
      entryView(await cell.mkdir(path, { ...as, mode, parents, exclusive }), Buffer.from(path)),
    );
  }

  move(
    sandbox: string,
    from: FilePath,
    to: FilePath,
    options: As & { overwrite: boolean; parents: boolean; resolve?: boolean },
  ): Promise<Entry> {
    const { parents, overwrite, resolve = false } = options;
    const move = async (cell: Cell, as: Acting) =>
      entryView(await cell.rename(from, to, { ...as, parents, noReplace: !overwrite, resolve }), Buffer.from(to));
    return this.#op(sandbox, 'move', from, options, move, () => ({ to: pathRecord(to) }));
  }

  remove(
    sandbox: string,
    path: FilePath,
    options: As & { recursive: boolean; missingOk: boolean },
  ): Promise<{ removed: number }> {
    const { recursive, missingOk } = options;
    return this.#op(
      sandbox,
      'remove',
      path,
      options,
      (cell, as) => cell.remove(path, { ...as, recursive, missingOk }),
      ({ removed }) => ({ removed }),
    );
  }

  chmod(sandbox: string, path: FilePath, mode: number, options: As & { recursive: boolean }): Promise<void> {
    return this.#op(
      sandbox,
      'chmod',
      path,
      options,
      (cell, as) => cell.chmod(path, mode, { ...as, recursive: options.recursive }),
      () => ({ mode }),
    );
  }

  chown(sandbox: string, path: FilePath, owner: string, options: As & { recursive: boolean }): Promise<void> {
    return this.#op(
      sandbox,
      'chown',
      path,
      options,
      (cell, as) => cell.chown(path, owner, { ...as, recursive: options.recursive }),
      () => ({ owner }),
    );
  }

  symlink(sandbox: string, path: FilePath, target: string, options: As): Promise<Entry> {
    const link = async (cell: Cell, as: Acting) => {
      await cell.symlink(path, Buffer.from(target), { ...as, parents: true });
      return entryView(await cell.stat(path, as), Buffer.from(path));
    };
    return this.#op(sandbox, 'symlink', path, options, link, () => ({ target }));
  }

  watch(
    sandbox: string,
    path: FilePath,
    options: As & { recursive: boolean },
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent>> {
    return this.#op(sandbox, 'watch', path, options, async (cell, as, box) =>
      views(box, await cell.watch(path, { ...as, recursive: options.recursive, signal })),
    );
  }

  async archive(sandbox: string, path: FilePath, options: As): Promise<Readable> {
    const { box, cell, as } = await this.#begin(sandbox, options);
    const journal = this.#journal(box, 'archive', path, as);
    try {
      const root = await cell.stat(path, { ...as, follow: true });
      if (root.type !== 'dir' && root.type !== 'file' && root.type !== 'symlink') {
        throw new VivError('not_regular_file', `${Buffer.from(path)} is neither a directory nor a file`, {
          details: pathRecord(path),
        });
      }
      const abort = new AbortController();
      const stream = archive(cell, Buffer.from(path), root, { ...as, signal: abort.signal });
      stream.once('close', () => abort.abort());
      const tally = new Tally();
      tally.watch(stream);
      followRead(box, stream, tally, journal, {});
      return stream;
    } catch (error) {
      journal({}, error);
      throw error;
    }
  }

  async unarchive(
    sandbox: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    options: As & { owner?: string | undefined },
  ): Promise<{ entries: number; bytes: number }> {
    const abort = new AbortController();
    const unpack = async (cell: Cell, as: Acting) => {
      const { owner } = options;
      try {
        await cell.mkdir(path, { ...as, parents: true, exclusive: false });
        return await unarchive(cell, body, { base: Buffer.from(path), ...as, owner, signal: abort.signal });
      } finally {
        abort.abort();
      }
    };
    return this.#op(sandbox, 'unarchive', path, options, unpack, (result) => ({ ...result }));
  }

  async #begin(sandbox: string, { user, privileged }: As): Promise<{ box: Box; cell: Cell; as: Acting }> {
    const box = await requireAwake(this.#context, sandbox);
    const cell = box.requireCell();
    box.requireJournalRoom();
    box.touch();
    return { box, cell, as: { user: user ?? box.row.user ?? undefined, ...(privileged ? { privileged } : {}) } };
  }

  async #op<T>(
    sandbox: string,
    op: string,
    path: FilePath,
    options: As,
    work: (cell: Cell, as: Acting, box: Box) => Promise<T>,
    note: (result: T) => Note = () => ({}),
  ): Promise<T> {
    const { box, cell, as } = await this.#begin(sandbox, options);
    const journal = this.#journal(box, op, path, as);
    box.open += 1;
    try {
      const result = await work(cell, as, box);
      journal(note(result));
      return result;
    } catch (error) {
      journal({}, error);
      throw error;
    } finally {
      box.open -= 1;
      box.touch();
    }
  }

  /** A function that writes the operation down, once, with how it went. */
  #journal(box: Box, op: string, path: FilePath, as: Acting): (note: Note, error?: unknown) => void {
    const began = this.#context.clock.monotonicMs();
    return (note, error) => {
      const durationMs = Math.round(this.#context.clock.monotonicMs() - began);
      const { code, message } = error === undefined ? {} : VivError.from(error);
      box.note('file', {
        op,
        ...pathRecord(path),
        ...(as.user ? { user: as.user } : {}),
        durationMs,
        ...note,
        ...(code ? { error: { code, message } } : {}),
      });
    };
  }
}

async function* views(box: Box, events: AsyncIterable<Parameters<typeof watchView>[0]>): AsyncGenerator<WatchEvent> {
  for await (const event of events) {
    box.touch();
    yield watchView(event);
  }
}
