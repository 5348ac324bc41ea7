import { Readable } from 'node:stream';
import type { Accounts, As, FilePath, FileService, WriteOptions } from '@vivarium/edge/edge.ts';
import { type Entry, VivError, type WatchEvent } from '@vivarium/protocol';

/** Files that are buffers in a map; keys are the path's bytes as Latin-1. */
export class FakeFiles implements FileService {
  readonly contents = new Map<string, Buffer>([['/etc/motd', Buffer.from('hello world\n')]]);
  readonly calls: { name: string; path: string; options: unknown }[] = [];
  listCount = 2;
  watching = 0;

  async stat(_sandbox: string, path: FilePath, options: As & { follow: boolean }): Promise<Entry> {
    return this.#entry(this.#note('stat', path, options));
  }

  async accounts(): Promise<Accounts> {
    const users = ['root:0:/root', 'user:1000:/home/user'].map((line) => line.split(':') as [string, string, string]);
    const names = new Map(users.map(([name, id]) => [Number(id), name]));
    return {
      users: new Map(users.map(([name, id, home]) => [name, { name, uid: Number(id), gid: Number(id), home }])),
      userNames: names,
      groupNames: names,
    };
  }

  async *list(_sandbox: string, path: FilePath, options: As & { depth: number }): AsyncIterable<Entry> {
    const at = this.#note('list', path, options);
    for (let i = 0; i < this.listCount; i++) yield fileEntry(`${at}/e${i}`, i);
  }

  async read(_sandbox: string, path: FilePath, options: As & { offset?: number; length?: number }) {
    const at = this.#note('read', path, options);
    const entry = this.#entry(at);
    const start = options.offset ?? 0;
    const part = this.contents
      .get(at)!
      .subarray(start, options.length === undefined ? undefined : start + options.length);
    return { entry, stream: Readable.from([part]) };
  }

  async write(
    _sandbox: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    options: As & WriteOptions,
  ): Promise<Entry> {
    const at = this.#note('write', path, options);
    if (at.startsWith('/proc')) throw new VivError('path_denied', `${at}: permission denied`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    this.contents.set(at, Buffer.concat(chunks));
    return this.#entry(at);
  }

  mkdir = async (_sandbox: string, path: FilePath, options: object) =>
    fileEntry(this.#note('mkdir', path, options), 0, 'dir');
  move = async (_sandbox: string, from: FilePath, to: FilePath, options: object) =>
    fileEntry(this.#note(`move ${latin(from)}`, to, options), 0);
  remove = async (_sandbox: string, path: FilePath, options: object) => ({
    removed: this.contents.delete(this.#note('remove', path, options)) ? 1 : 0,
  });
  chmod = async (_sandbox: string, path: FilePath, mode: number, options: object) =>
    void this.#note(`chmod ${mode}`, path, options);
  chown = async (_sandbox: string, path: FilePath, owner: string, options: object) =>
    void this.#note(`chown ${owner}`, path, options);
  symlink = async (_sandbox: string, path: FilePath, target: string, options: As) => ({
    ...fileEntry(this.#note('symlink', path, options), 0, 'symlink'),
    target,
  });

  async watch(
    _sandbox: string,
    path: FilePath,
    _options: object,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent>> {
    const at = latin(path);
    this.watching++;
    const done = () => this.watching--;
    return (async function* () {
      try {
        yield { kind: 'create' as const, path: `${at}/new`, isDir: false };
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      } finally {
        done();
      }
    })();
  }

  archive = async (_sandbox: string, path: FilePath) => Readable.from([Buffer.from(`tar of ${latin(path)}`)]);

  async unarchive(_sandbox: string, path: FilePath, body: AsyncIterable<Uint8Array>, options: object) {
    this.#note('unarchive', path, options);
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    return { entries: 1, bytes };
  }

  #note(name: string, path: FilePath, options: unknown): string {
    this.calls.push({ name, path: latin(path), options });
    return latin(path);
  }

  #entry(at: string): Entry {
    const content = this.contents.get(at);
    if (!content) throw new VivError('path_not_found', `${at}: no such file or directory`);
    return fileEntry(at, content.length);
  }
}

const latin = (path: FilePath) => Buffer.from(path).toString('latin1');

function fileEntry(path: string, sizeBytes: number, type: Entry['type'] = 'file'): Entry {
  return {
    name: path.slice(path.lastIndexOf('/') + 1),
    path,
    type,
    mode: 0o644,
    uid: 0,
    gid: 0,
    sizeBytes,
    mtimeMs: 0,
    nlink: 1,
  };
}
