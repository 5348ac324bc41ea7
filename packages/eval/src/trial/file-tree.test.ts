import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import tar from 'tar-stream';
import { FileTree } from './file-tree.ts';

const scratch = mkdtempSync(join(tmpdir(), 'viv-file-tree-'));
after(() => rmSync(scratch, { recursive: true }));

type Found = Record<string, { mode: number; type: string; text: string; link: string | undefined }>;

async function entries(tree: FileTree): Promise<Found> {
  const found: Found = {};
  const extract = tar.extract();
  const input = Readable.from(tree.tar());
  input.on('error', (error) => extract.destroy(error));
  input.pipe(extract);
  for await (const entry of extract) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry as AsyncIterable<Uint8Array>) chunks.push(chunk);
    const { name, mode, type, linkname } = entry.header;
    found[name] = { mode: mode!, type: type!, text: Buffer.concat(chunks).toString(), link: linkname ?? undefined };
  }
  return found;
}

function directory(name: string): string {
  const dir = join(scratch, name);
  mkdirSync(join(dir, 'sub'), { recursive: true });
  writeFileSync(join(dir, 'test.sh'), '#!/bin/bash\r\necho hi\r\n', { mode: 0o600 });
  writeFileSync(join(dir, 'sub/data.bin'), 'a\r\nb');
  symlinkSync('data.bin', join(dir, 'sub/link'));
  return dir;
}

test('scripts arrive executable and with LF, data as it is, everything readable', async () => {
  const found = await entries(await new FileTree().addTree('tests', directory('plain')));
  assert.equal(found['tests/test.sh']!.text, '#!/bin/bash\necho hi\n');
  assert.equal(found['tests/test.sh']!.mode & 0o555, 0o555);
  assert.equal(found['tests/sub/data.bin']!.text, 'a\r\nb');
  assert.equal(found['tests/sub/data.bin']!.mode & 0o444, 0o444);
  assert.equal(found['tests/sub/link']!.link, 'data.bin');
  assert.equal(found['tests/']!.type, 'directory');
});

test('a later tree is laid over an earlier one', async () => {
  const over = join(scratch, 'over');
  mkdirSync(over);
  writeFileSync(join(over, 'test.sh'), 'second');
  const tree = await (await new FileTree().addTree('tests', directory('under'))).addTree('tests', over);
  const found = await entries(tree);
  assert.equal(found['tests/test.sh']!.text, 'second');
  assert.ok(found['tests/sub/data.bin']);
});

test('the digest follows names, contents and modes, and no times', async () => {
  const dir = directory('digest');
  const digest = async () => (await new FileTree().addTree('tests', dir)).digest();
  const before = await digest();
  utimesSync(join(dir, 'test.sh'), 1, 1);
  assert.equal(await digest(), before);
  chmodSync(join(dir, 'sub/data.bin'), 0o755);
  const executable = await digest();
  assert.notEqual(executable, before);
  writeFileSync(join(dir, 'sub/data.bin'), 'a\r\nc');
  assert.notEqual(await digest(), executable);
});

test('a tree for the root lies in no directory, slashes around a path do not count', async () => {
  const dir = directory('root');
  assert.deepEqual(Object.keys(await entries(await new FileTree().addTree('/', dir))), [
    'sub/',
    'sub/data.bin',
    'sub/link',
    'test.sh',
  ]);
  assert.deepEqual(
    await entries(await new FileTree().addTree('/srv/', dir)),
    await entries(await new FileTree().addTree('srv', dir)),
  );
});

test('a large file is read when the tar is made', async () => {
  const dir = join(scratch, 'large');
  mkdirSync(dir);
  writeFileSync(join(dir, 'big'), Buffer.alloc(3_000_000, 'q'));
  const found = await entries(await new FileTree().addTree('srv', dir));
  assert.equal(found['srv/big']!.text.length, 3_000_000);
});

test('a file that can not be read ends the tar with an error', async () => {
  const dir = join(scratch, 'gone');
  mkdirSync(dir);
  writeFileSync(join(dir, 'big'), Buffer.alloc(3_000_000));
  const tree = await new FileTree().addTree('srv', dir);
  rmSync(join(dir, 'big'));
  await assert.rejects(entries(tree));
});
