import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PackReport } from '@vivarium/protocol';
import type { CommitRequest, ImageStore, PackOptions } from '../store.ts';
import { listXattrs } from '../tree/xattr.ts';
import { chunked, tarOf } from './archives.ts';
import { mountOverlay, umount } from './mount.ts';
import { finish, never, type Place } from './place.ts';

/** An image and an overlay over it in which a test changes things, as a sandbox does. */
export type World = {
  store: ImageStore;
  /** The writable view. */
  root: string;
  upper: string;
  /** Packs what is changed so far. */
  pack(name: string, options?: Partial<PackOptions>, rest?: Partial<CommitRequest>): Promise<PackReport>;
  /** All that an image shows, as `listing` gives it. */
  shows(image: string, options?: { times?: boolean }): Promise<string[]>;
};

const NOW = '2026-01-01T00:00:00.000Z';

/** `fill` writes the tree of the image `base@1`, made on the first of January 2026. */
export async function makeWorld(at: Place, fill: (root: string) => void): Promise<World> {
  const store = await at.open({ now: () => new Date(NOW) });
  const tree = at.make('base');
  fill(tree);
  await finish(store.importTar({ name: 'base@1', config: { env: { A: '1' } } }, chunked(tarOf(tree)), never()));
  return overlayOn(at, store, 'base@1');
}

export const OLD = new Date('2020-05-05T05:05:05Z');

/** A small image: everything in it is from 2020. */
export function fillSmall(root: string): void {
  for (const dir of ['app/sub/deep', 'etc', 'tests', 'var/log', 'empty'])
    mkdirSync(join(root, dir), { recursive: true });
  for (const file of ['app/main.c', 'app/sub/a', 'app/sub/deep/b', 'etc/conf', 'tests/test.sh', 'var/log/dpkg.log'])
    writeFileSync(join(root, file), `${file}\n`);
  execFileSync('find', [root, '-exec', 'touch', '-h', '-d', OLD.toISOString(), '{}', '+']);
}

let worlds = 0;

/** Another overlay over an image of the store. */
export async function overlayOn(at: Place, store: ImageStore, parent: string): Promise<World> {
  const [upper, work, root] = ['upper', 'work', 'merged'].map((name) => at.make(`${name}-${++worlds}`)) as [
    string,
    string,
    string,
  ];
  const { layers } = await store.acquire(parent);
  mountOverlay(
    layers.map(({ path }) => path),
    root,
    { upper, work },
  );
  return {
    store,
    root,
    upper,
    pack: (name, options, rest) =>
      store.commit({
        name,
        parent,
        upperDir: upper,
        idShift: 0,
        createdBy: 'test',
        pack: { scrub: 'default', keep: [], exclude: [], times: 'fixed', ...options },
        ...rest,
      }),
    async shows(image, options) {
      const seen = at.make(`seen-${++worlds}`);
      const acquired = await store.acquire(image);
      if (acquired.layers.length === 1) return listing(acquired.layers[0]!.path, options);
      mountOverlay(
        acquired.layers.map(({ path }) => path),
        seen,
      );
      const lines = listing(seen, options);
      umount(seen);
      return lines;
    },
  };
}

/** A line for each path beneath: type, mode, owner, links, contents or target, attributes and, if asked for, time. */
export function listing(root: string, options: { times?: boolean } = {}): string[] {
  return beneath(Buffer.from(root))
    .map((path) => {
      const stat = lstatSync(path, { bigint: true });
      const type = stat.isDirectory() ? 'd' : stat.isFile() ? 'f' : stat.isSymbolicLink() ? 'l' : 'x';
      const fields = [type, (Number(stat.mode) & 0o7777).toString(8), `${stat.uid}:${stat.gid}`];
      if (type !== 'd') fields.push(`links=${stat.nlink}`);
      if (type === 'f') fields.push(contents(path, stat.size));
      if (type === 'l') fields.push(`-> ${readlinkSync(path)}`);
      const xattrs = listXattrs(path).filter((each) => !each.startsWith('trusted.'));
      if (xattrs.length > 0) fields.push(xattrs.sort().join(','));
      if (options.times) fields.push(`@${stat.mtimeNs}`);
      return `${JSON.stringify(path.toString('latin1').slice(root.length + 1))} ${fields.join(' ')}`;
    })
    .sort();
}

function beneath(directory: Buffer): Buffer[] {
  return readdirSync(directory, { encoding: 'buffer' }).flatMap((name) => {
    const path = Buffer.concat([directory, Buffer.from('/'), name]);
    return lstatSync(path).isDirectory() ? [path, ...beneath(path)] : [path];
  });
}

function contents(path: Buffer, size: bigint): string {
  const bytes = readFileSync(path);
  if (size <= 40n) return JSON.stringify(bytes.toString('latin1'));
  return `${size} ${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}`;
}
