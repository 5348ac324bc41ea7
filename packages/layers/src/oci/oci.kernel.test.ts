import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import type { ImageStore } from '../store.ts';
import { type ArchiveEntry, archiveOf, chunked } from '../testing/archives.ts';
import { mountOverlay, umount } from '../testing/mount.ts';
import { dockerArchive, gzip, type OciSpec, ociArchive, zstd } from '../testing/oci-image.ts';
import { finish, never, type Place, place } from '../testing/place.ts';
import { listing } from '../testing/world.ts';

type Setup = { at: Place; store: ImageStore };

async function setup(context: TestContext): Promise<Setup> {
  const at = place(context);
  return { at, store: await at.open() };
}

let shown = 0;

/** What a sandbox of the image would see, without the mount points that were put below. */
async function shows({ at, store }: Setup, image: string): Promise<string[]> {
  const { layers, release } = await store.acquire(image);
  const seen = at.make(`seen-${++shown}`);
  const paths = layers.map(({ path }) => path);
  mountOverlay(paths.length > 1 ? paths : [at.make(`below-${shown}`), ...paths], seen);
  try {
    return listing(seen).filter((line) => !/^"(dev|proc)" /.test(line));
  } finally {
    umount(seen);
    release();
  }
}

async function importLayers(at: Setup, name: string, layers: ArchiveEntry[][], spec: Partial<OciSpec> = {}) {
  const archives = await Promise.all(layers.map(archiveOf));
  const body = await ociArchive({ layers: archives.map(gzip), ...spec });
  return finish(at.store.importOci({ name, config: {} }, chunked(body), never()));
}

const dir = (name: string, mode = 0o755): ArchiveEntry => ({ name: `${name}/`, type: 'directory', mode });
const file = (name: string, body = name, rest: Partial<ArchiveEntry> = {}): ArchiveEntry => ({
  name,
  body,
  mode: 0o644,
  ...rest,
});
const link = (name: string, linkname: string): ArchiveEntry => ({ name, type: 'link', linkname });
const symlink = (name: string, linkname: string): ArchiveEntry => ({ name, type: 'symlink', linkname });
const gone = (name: string): ArchiveEntry => file(name.replace(/([^/]*)$/, '.wh.$1'), '');
const names = (lines: string[]) => lines.map((line) => JSON.parse(line.split(' ')[0]!));

test('whiteouts and opaque directories delete what is below, whatever their order in the layer', async (t) => {
  const at = await setup(t);
  const below = [dir('a'), file('a/one'), file('a/two'), dir('b'), file('b/old'), dir('c'), file('c/old'), file('d')];
  const above = [
    gone('a/one'),
    file('b/.wh..wh..opq', ''),
    file('b/new'),
    file('c/new'),
    gone('c'),
    gone('d'),
    file('d', 'again'),
    gone('never-there'),
    dir('fresh'),
    gone('fresh/nothing'),
  ];
  await importLayers(at, 'x@1', [below, above]);
  const lines = await shows(at, 'x@1');
  assert.deepEqual(names(lines), ['a', 'a/two', 'b', 'b/new', 'c', 'c/new', 'd', 'fresh']);
  assert.match(lines.find((line) => line.startsWith('"d"'))!, /"again"/);
});

test('a directory that a layer only passes through stays as it is below', async (t) => {
  const at = await setup(t);
  await importLayers(at, 'x@1', [
    [dir('secret', 0o700), { ...dir('secret/mine', 0o750), uid: 7 }],
    [file('secret/mine/f')],
  ]);
  const lines = await shows(at, 'x@1');
  assert.ok(
    lines.some((line) => line.startsWith('"secret" d 700 0:0')),
    lines.join('\n'),
  );
  assert.ok(
    lines.some((line) => line.startsWith('"secret/mine" d 750 7:0')),
    lines.join('\n'),
  );
});

test('hard links are kept within a layer, and one to a file below is a copy of it', async (t) => {
  const at = await setup(t);
  await importLayers(at, 'x@1', [
    [file('a', 'A', { uid: 3, mode: 0o4711, pax: { 'SCHILY.xattr.user.note': 'x' } }), link('b', 'a')],
    [link('c', 'a'), link('d', './/c'), link('e', '/b')],
  ]);
  const lines = await shows(at, 'x@1');
  assert.deepEqual(lines, [
    '"a" f 4711 3:0 links=2 "A" user.note',
    '"b" f 4711 3:0 links=2 "A" user.note',
    '"c" f 4711 3:0 links=2 "A" user.note',
    '"d" f 4711 3:0 links=2 "A" user.note',
    '"e" f 4711 3:0 links=1 "A" user.note',
  ]);
});

test('the last of several members of a name is what the image has', async (t) => {
  const at = await setup(t);
  await importLayers(at, 'x@1', [
    [
      file('f', 'first'),
      link('kept', 'f'),
      file('f', 'second'),
      file('t'),
      dir('t'),
      file('t/in'),
      dir('u'),
      file('u/in'),
      symlink('u', 'f'),
    ],
  ]);
  const lines = await shows(at, 'x@1');
  assert.deepEqual(lines, [
    '"f" f 644 0:0 links=1 "second"',
    '"kept" f 644 0:0 links=1 "first"',
    '"t" d 755 0:0',
    '"t/in" f 644 0:0 links=1 "t/in"',
    '"u" l 777 0:0 links=1 -> f',
  ]);
});

test('a symbolic link on the way to a member leads within the image, also one that points out of it', async (t) => {
  const at = await setup(t);
  await importLayers(at, 'x@1', [
    [dir('usr'), dir('usr/lib'), symlink('lib', 'usr/lib'), symlink('out', '../../../../usr'), symlink('etc', '/etc')],
    [file('lib/new'), file('out/escaped'), file('out/../../never', 'x')].slice(0, 2),
  ]);
  assert.deepEqual(names(await shows(at, 'x@1')), [
    'etc',
    'lib',
    'out',
    'usr',
    'usr/escaped',
    'usr/lib',
    'usr/lib/new',
  ]);
});

test('set-id bits, capabilities, ACLs, FIFOs, owners and long names are kept; devices and foreign owners are not', async (t) => {
  const at = await setup(t);
  const long = `${'n'.repeat(200)}/${'m'.repeat(200)}`;
  const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex').toString('latin1');
  const { lines: said } = await importLayers(at, 'x@1', [
    [
      file('suid', 's', { mode: 0o6755, uid: 1000 }),
      file('capable', 'c', {
        pax: { 'SCHILY.xattr.security.capability': capability, 'SCHILY.xattr.trusted.overlay.opaque': 'y' },
      }),
      { name: 'pipe', type: 'fifo', mode: 0o600 },
      { name: 'sda', type: 'block-device', devmajor: 8, devminor: 0 },
      file('foreign', 'f', { uid: 70_000 }),
      file(long),
    ],
  ]);
  const lines = await shows(at, 'x@1');
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('"nnn')),
    [
      '"capable" f 644 0:0 links=1 "c" security.capability',
      '"foreign" f 644 65534:0 links=1 "f"',
      '"pipe" x 600 0:0 links=1',
      '"suid" f 6755 1000:0 links=1 "s"',
    ],
  );
  assert.ok(names(lines).includes(long));
  assert.match(said.join('\n'), /left out 1 device nodes: sda/);
  assert.match(said.join('\n'), /1 entries have owners past 65535/);
});

test('plain, gzip and zstd layers give the same layers, and none is made twice', async (t) => {
  const at = await setup(t);
  const layers = await Promise.all([[dir('etc'), file('etc/a')], [file('etc/b')]].map(archiveOf));
  const images = [];
  for (const [i, pack] of [(bytes: Buffer) => bytes, gzip, zstd].entries()) {
    const body = await ociArchive({ layers: layers.map(pack) });
    const { image, lines } = await finish(at.store.importOci({ name: `x@${i}`, config: {} }, chunked(body), never()));
    assert.equal(
      lines.some((line) => line.includes('converting')),
      i === 0,
      lines.join('\n'),
    );
    images.push(image.layers.map(({ digest }) => digest));
  }
  assert.deepEqual(images[1], images[0]);
  assert.deepEqual(images[2], images[0]);
});

test('a layer that depends on those below it is made anew over others', async (t) => {
  const at = await setup(t);
  const top = [gone('a')];
  await importLayers(at, 'x@1', [[file('a'), file('b')], top]);
  await importLayers(at, 'y@1', [[file('b')], top]);
  await importLayers(at, 'z@1', [[file('a', 'other')], top]);
  assert.deepEqual(names(await shows(at, 'x@1')), ['b']);
  assert.deepEqual(names(await shows(at, 'y@1')), ['b']);
  assert.deepEqual(names(await shows(at, 'z@1')), []);
});

test('the same image twice at once is made once', async (t) => {
  const at = await setup(t);
  const body = await ociArchive({ layers: [gzip(await archiveOf([file('a')])), gzip(await archiveOf([file('b')]))] });
  const all = await Promise.all(
    [1, 2, 3].map((i) => finish(at.store.importOci({ name: `x@${i}`, config: {} }, chunked(body), never()))),
  );
  const converting = all.flatMap(({ lines }) => lines).filter((line) => line.includes(': converting'));
  assert.equal(converting.length, 3, 'two layers and the mount points');
  assert.deepEqual(names(await shows(at, 'x@3')), ['a', 'b']);
});

test('docker-save archives: old form, links between layers, tags', async (t) => {
  const at = await setup(t);
  const layer = await archiveOf([file('a')]);
  const body = await dockerArchive([layer, layer, await archiveOf([file('b')])], ['me/app:v1'], { Cmd: ['/a'] });
  const { image } = await finish(
    at.store.importOci({ name: 'x@1', ref: 'me/app:v1', config: {} }, chunked(body), never()),
  );
  assert.deepEqual(names(await shows(at, 'x@1')), ['a', 'b']);
  assert.deepEqual(image.config.cmd, ['/a']);
  await assert.rejects(
    finish(at.store.importOci({ name: 'x@2', ref: 'you/app:v1', config: {} }, chunked(body), never())),
    /no image in it is named you\/app:v1: there is me\/app:v1/,
  );
});

const REFUSED: [what: string, spec: Partial<OciSpec> & { entries?: ArchiveEntry[] }, error: RegExp][] = [
  ['an entry with ..', { entries: [file('../../etc/passwd')] }, /path_escapes.*\.\.\/\.\.\/etc\/passwd leads out/],
  ['a hard link with ..', { entries: [link('a', '../../etc/shadow')] }, /path_escapes.*hard link/],
  [
    'a hard link to nothing',
    { entries: [link('a', 'nothing')] },
    /invalid_image.*hard link to nothing, which is not there/,
  ],
  [
    'a hard link through a link out of it',
    { entries: [symlink('up', '/../../..'), link('a', 'up/etc/shadow')] },
    /invalid_image.*not there/,
  ],
  ['a hard link to a directory', { entries: [dir('d'), link('a', 'd')] }, /invalid_image.*the directory d/],
  ['a whiteout of ..', { entries: [file('d/.wh...', '')] }, /path_escapes.*deletes '\.\.'/],
  ['a whiteout of .', { entries: [file('d/.wh..', '')] }, /path_escapes/],
  [
    'links in a circle',
    { entries: [symlink('a', 'b'), symlink('b', 'a'), file('a/f')] },
    /invalid_image.*too many symbolic links/,
  ],
  ['a name that is too long', { entries: [file('n'.repeat(300))] }, /invalid_image.*longer than 255/],
  [
    'a blob that is cut short',
    { blobs: (blobs, [layer]) => blobs.set(layer!, blobs.get(layer!)!.subarray(0, -20)) },
    /invalid_image.*blob sha256:[0-9a-f]{64} has .* bytes, its manifest says/,
  ],
  [
    'a blob that is not what its digest says',
    { blobs: (blobs, [layer]) => blobs.set(layer!, flipped(blobs.get(layer!)!)) },
    /invalid_image.*blob sha256:[0-9a-f]{64} is/,
  ],
  [
    'a blob that is missing',
    { blobs: (blobs, [layer]) => blobs.delete(layer!) },
    /invalid_image.*is not in the archive/,
  ],
  [
    'a diffID that is a lie',
    { wholeConfig: (config) => Object.assign(config, { rootfs: { diff_ids: [`sha256:${'0'.repeat(64)}`] } }) },
    /invalid_image.*the image's config says sha256:0000/,
  ],
  [
    'fewer diffIDs than layers',
    { wholeConfig: (config) => Object.assign(config, { rootfs: { diff_ids: [] } }) },
    /invalid_image.*1 layers, its config names 0/,
  ],
  [
    'another architecture',
    { wholeConfig: (config) => Object.assign(config, { architecture: 's390x' }) },
    /invalid_image.*linux\/s390x/,
  ],
  [
    'a layer that may not be distributed',
    {
      manifest: ({ layers }) =>
        Object.assign(layers[0]!, { mediaType: 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip' }),
    },
    /invalid_image.*may not be distributed/,
  ],
  ['no image', { index: (index) => index.manifests.splice(0) }, /invalid_image.*it has 0 images/],
];

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length >> 1]! ^= 0xff;
  return copy;
}

for (const [what, { entries = [file('a')], ...spec }, error] of REFUSED) {
  test(`${what} is refused, and nothing is kept`, async (t) => {
    const at = await setup(t);
    await assert.rejects(importLayers(at, 'x@1', [entries], spec), (thrown) => {
      assert.ok(thrown instanceof VivError, String(thrown));
      assert.match(`${thrown.code}: ${thrown.message}`, error);
      return true;
    });
    assert.equal(at.store.has('x@1'), false);
    assert.deepEqual(
      readdirSync(`${at.at.stateDir}/layers`).filter((name) => name.endsWith('.erofs')),
      [],
    );
    assert.deepEqual(readdirSync(`${at.at.stateDir}/tmp`), []);
  });
}

test('what is no image archive at all is refused', async (t) => {
  const at = await setup(t);
  const bodies: [Buffer, RegExp][] = [
    [await archiveOf([file('etc/passwd')]), /neither index.json nor manifest.json/],
    [Buffer.from('not a tar, but long enough to look at'.repeat(40)), /no tar header at byte 0/],
    [Buffer.alloc(0), /empty/],
  ];
  for (const [body, error] of bodies)
    await assert.rejects(finish(at.store.importOci({ name: 'x@1', config: {} }, chunked(body), never())), error);
});
