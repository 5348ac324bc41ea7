import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { addFile, blocks } from '@vivarium/sdk/node/pack-tree.ts';
import tar from 'tar-stream';
import { readForSandbox } from '../task/script.ts';

type Node =
  | { type: 'directory'; mode: number }
  | { type: 'symlink'; target: string }
  | { type: 'file'; mode: number; size: number; from: string }
  | { type: 'file'; mode: number; size: number; content: Buffer };

/** Files up to this size are held in memory, and scripts among them get LF. */
const LOOKED_THROUGH_BYTES = 1 << 20;

/**
 * Files that go into a sandbox or an image: paths without a leading slash, later ones replace earlier ones. Contents of
 * large files are read when the tar is made. Owners are root; times are not carried, so that equal trees have equal digests.
 */
export class FileTree {
  readonly #nodes = new Map<string, Node>();

  get isEmpty(): boolean {
    return this.#nodes.size === 0;
  }

  addDirectory(path: string, mode = 0o755): this {
    this.#nodes.set(path, { type: 'directory', mode });
    return this;
  }

  addFile(path: string, content: string | Uint8Array, mode = 0o644): this {
    const bytes = Buffer.from(content as Uint8Array);
    this.#nodes.set(path, { type: 'file', mode, size: bytes.length, content: bytes });
    return this;
  }

  /**
   * A directory of this machine below `path` (slashes around it don't count; `/` is the root itself). Shell scripts get LF and are
   * executable: CRLF would break their first line.
   */
  async addTree(path: string, from: string): Promise<this> {
    const visit = async (source: string, name: string): Promise<void> => {
      const stat = await lstat(source);
      const mode = stat.mode & 0o777;
      if (stat.isDirectory()) {
        if (name !== '') this.#nodes.set(name, { type: 'directory', mode: mode | 0o555 });
        for (const child of (await readdir(source)).sort())
          await visit(join(source, child), name === '' ? child : `${name}/${child}`);
      } else if (stat.isSymbolicLink()) {
        this.#nodes.set(name, { type: 'symlink', target: await readlink(source) });
      } else if (stat.isFile()) {
        this.#nodes.set(name, await fileNode(source, mode, stat.size));
      }
    };
    await visit(from, path.split('/').filter(Boolean).join('/'));
    return this;
  }

  /** SHA-256 over paths, kinds, modes and contents. */
  async digest(): Promise<string> {
    const hash = createHash('sha256');
    for (const [path, node] of [...this.#nodes].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const detail =
        node.type === 'symlink' ? node.target : `${node.mode.toString(8)} ${'size' in node ? node.size : 0}`;
      hash.update(`${path}\0${node.type}\0${detail}\0`);
      if (node.type !== 'file') continue;
      if ('content' in node) hash.update(node.content);
      else for await (const chunk of createReadStream(node.from)) hash.update(chunk as Buffer);
    }
    return hash.digest('hex');
  }

  /** A tar stream, made while it is read. */
  tar(): AsyncIterable<Uint8Array> {
    const pack = tar.pack();
    const fill = async () => {
      for (const [path, node] of this.#nodes) await addEntry(pack, path, node);
    };
    fill().then(
      () => pack.finalize(),
      (error: Error) => pack.destroy(error),
    );
    return blocks(pack);
  }
}

async function fileNode(from: string, mode: number, size: number): Promise<Node> {
  if (size > LOOKED_THROUGH_BYTES) return { type: 'file', mode: mode | 0o444, size, from };
  const content = await readForSandbox(from);
  const executable = from.endsWith('.sh') ? 0o111 : 0;
  return { type: 'file', mode: mode | 0o444 | executable, size: content.length, content };
}

const EPOCH = new Date(0);

async function addEntry(pack: tar.Pack, path: string, node: Node): Promise<void> {
  const header = { name: path, uid: 0, gid: 0, mtime: EPOCH };
  if (node.type === 'directory') {
    pack.entry({ ...header, name: `${path}/`, type: 'directory', mode: node.mode });
  } else if (node.type === 'symlink') {
    pack.entry({ ...header, type: 'symlink', linkname: node.target, size: 0 });
  } else if ('content' in node) {
    pack.entry({ ...header, type: 'file', mode: node.mode, size: node.size }, node.content);
  } else {
    await addFile(pack, node.from, { ...header, type: 'file', mode: node.mode, size: node.size }, () => {});
  }
}
