import tar from 'tar-stream';

export type TarEntry = string | { content?: string; mode?: number; uid?: number; linkname?: string };

/** A small tar from names and contents; a name that ends in `/` is a directory. Owned by root, time 0. */
export async function* tarOf(files: Record<string, TarEntry>): AsyncGenerator<Uint8Array> {
  const pack = tar.pack();
  for (const [name, value] of Object.entries(files)) {
    const entry = typeof value === 'string' ? { content: value } : value;
    const { content = '', mode = name.endsWith('/') ? 0o755 : 0o644, uid = 0, linkname } = entry;
    const common = { name, mode, uid, gid: uid, mtime: new Date(0) };
    if (name.endsWith('/')) pack.entry({ ...common, type: 'directory' });
    else if (linkname !== undefined) pack.entry({ ...common, type: 'symlink', linkname });
    else pack.entry(common, content);
  }
  pack.finalize();
  for await (const chunk of pack) yield chunk as Uint8Array;
}
