import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import tar from 'tar-stream';
import { blocks, packInto, packTree } from './pack-tree.ts';
import { unpackTree } from './unpack-tree.ts';

const scratch = mkdtempSync(join(tmpdir(), 'viv-tree-'));
after(() => rmSync(scratch, { recursive: true }));
const fresh = (name: string) => join(scratch, name);

test('a directory survives the round trip: names, content, modes, links, empty directories', async () => {
  const from = fresh('from');
  mkdirSync(join(from, 'a b/ü\n'), { recursive: true });
  mkdirSync(join(from, 'empty'));
  writeFileSync(join(from, 'a b/ü\n/big'), Buffer.alloc(700_001, 'q'));
  writeFileSync(join(from, 'run.sh'), '#!', { mode: 0o755 });
  writeFileSync(join(from, 'zero'), '');
  writeFileSync(join(from, 'n'.repeat(180)), 'long name');
  symlinkSync('a b', join(from, 'link'));
  const to = fresh('to');
  let last = { entries: 0, bytes: 0 };
  const done = await unpackTree(packTree(from), to, (progress) => {
    last = progress;
  });
  assert.deepEqual(readdirSync(to).sort(), readdirSync(from).sort());
  assert.equal(readFileSync(join(to, 'a b/ü\n/big')).length, 700_001);
  assert.equal(statSync(join(to, 'run.sh')).mode & 0o777, 0o755);
  assert.equal(readlinkSync(join(to, 'link')), 'a b');
  assert.equal(done.bytes, 700_001 + 2 + 9);
  assert.deepEqual(last, done);
});

async function refused(fill: (pack: tar.Pack) => void): Promise<void> {
  const pack = tar.pack();
  fill(pack);
  pack.finalize();
  await assert.rejects(unpackTree(pack as unknown as AsyncIterable<Uint8Array>, fresh('jail')), {
    code: 'path_escapes',
  });
}

test('an archive can not write outside the target: dot-dot, absolute names, symlinks on the way, hard links', async () => {
  await refused((pack) => pack.entry({ name: '../evil' }, 'x'));
  await refused((pack) => pack.entry({ name: 'a/../../evil' }, 'x'));
  await refused((pack) => pack.entry({ name: '/etc/evil' }, 'x'));
  await refused((pack) => {
    pack.entry({ name: 'out', type: 'symlink', linkname: scratch });
    pack.entry({ name: 'out/evil' }, 'x');
  });
  await refused((pack) => pack.entry({ name: 'h', type: 'link', linkname: '../../secret' }));
  assert.deepEqual(
    readdirSync(scratch).filter((name) => name.includes('evil')),
    [],
  );
});

test('a symlink in the place of a file is replaced, not followed, and set-id bits are dropped', async () => {
  const secret = fresh('secret');
  writeFileSync(secret, 'untouched');
  const pack = tar.pack();
  pack.entry({ name: 'f', type: 'symlink', linkname: secret });
  pack.entry({ name: 'f', mode: 0o4755 }, 'new');
  pack.finalize();
  const to = fresh('replace');
  await unpackTree(pack as unknown as AsyncIterable<Uint8Array>, to);
  assert.equal(readFileSync(secret, 'utf8'), 'untouched');
  assert.equal(readFileSync(join(to, 'f'), 'utf8'), 'new');
  assert.equal(statSync(join(to, 'f')).mode & 0o7000, 0);
});

test('an archive that breaks off is an error', async () => {
  async function* half() {
    const chunks: Uint8Array[] = [];
    const pack = tar.pack();
    pack.entry({ name: 'f' }, 'x'.repeat(5000));
    pack.finalize();
    for await (const chunk of pack as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
    yield Buffer.concat(chunks).subarray(0, 1500);
  }
  await assert.rejects(unpackTree(half(), fresh('half')));
});

test('a symlink whose target could not be read inside is left out, and the rest arrives', async () => {
  const pack = tar.pack();
  pack.entry({ name: 'cwd', type: 'symlink', linkname: '' });
  pack.entry({ name: 'file' }, 'x');
  pack.finalize();
  const to = fresh('unreadable-link');
  await unpackTree(pack as unknown as AsyncIterable<Uint8Array>, to);
  assert.deepEqual(readdirSync(to), ['file']);
});

/** A tree whose one file is gone when it is to be opened, as a pack that has just been begun. */
function vanishing(name: string) {
  const from = fresh(name);
  mkdirSync(from);
  writeFileSync(join(from, 'file'), 'x');
  const pack = tar.pack();
  // Asked once the file has been looked at and before it is opened.
  const skip = (path: string) => {
    if (path === 'file') rmSync(join(from, path));
    return false;
  };
  packInto(pack, from, { skip });
  return pack;
}

test('a file that can not be read ends the archive with an error, and nothing else', async () => {
  await assert.rejects(unpackTree(blocks(vanishing('vanishing')), fresh('vanished')), { code: 'ENOENT' });
});

test('an archive that failed before its reader came throws the same error', async () => {
  const pack = vanishing('vanishing-early');
  const archive = blocks(pack);
  await new Promise((resolve) => pack.on('close', () => resolve(undefined)));
  await assert.rejects(unpackTree(archive, fresh('vanished-early')), { code: 'ENOENT' });
});
