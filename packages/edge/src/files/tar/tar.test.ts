import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parsePax } from './pax.ts';
import type { TarEntry } from './tar-entry.ts';
import { encodeTarHeader, tarPadding } from './tar-header.ts';
import { readTar } from './tar-reader.ts';

const name = fc
  .uint8Array({ minLength: 1, maxLength: 300 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte))));
const entry: fc.Arbitrary<TarEntry & { content: Buffer }> = fc
  .record({
    type: fc.constantFrom('file' as const, 'dir' as const, 'symlink' as const, 'link' as const),
    name,
    link: name,
    mode: fc.integer({ min: 0, max: 0o7777 }),
    uid: fc.oneof(fc.nat(70_000), fc.constant(2 ** 32 - 2)),
    gid: fc.nat(),
    mtimeNs: fc.nat(2 ** 31 - 1).map((s) => BigInt(s) * 1_000_000_000n),
    content: fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
  })
  .map((each) => ({
    ...each,
    link: each.type === 'symlink' || each.type === 'link' ? each.link : Buffer.alloc(0),
    content: each.type === 'file' ? each.content : Buffer.alloc(0),
    size: each.type === 'file' ? each.content.length : 0,
  }));

function encode(entries: (TarEntry & { content: Buffer })[]): Buffer {
  const parts = entries.flatMap((each) => [
    encodeTarHeader(each),
    each.content,
    Buffer.alloc(tarPadding(each.content.length)),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

async function decode(tar: Buffer, chunkBytes: number): Promise<(TarEntry & { content: Buffer })[]> {
  const found = [];
  for await (const member of readTar(chunks(tar, chunkBytes))) {
    const content: Uint8Array[] = [];
    for await (const chunk of member.content) content.push(Buffer.from(chunk));
    found.push({ ...member.entry, content: Buffer.concat(content) });
  }
  return found;
}

async function* chunks(data: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}

const plain = (entries: (TarEntry & { content: Buffer })[]) =>
  entries.map((each) => ({
    ...each,
    name: each.name.toString('latin1').replace(/\/$/, ''),
    link: each.link.toString('latin1'),
    content: each.content.toString('latin1'),
  }));

test('what is written is read again, whatever the names and wherever the stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 6 }), fc.integer({ min: 1, max: 1500 }), async (entries, size) => {
      assert.deepEqual(plain(await decode(encode(entries), size)), plain(entries));
    }),
    { numRuns: 60 },
  );
});

test('an archive cut short anywhere is refused, never taken for a whole one', async () => {
  const file = { type: 'file' as const, link: Buffer.alloc(0), mode: 0o644, uid: 0, gid: 0, mtimeNs: 0n };
  const long = { ...file, name: Buffer.from('n'.repeat(200)), size: 700, content: Buffer.alloc(700, 1) };
  const tar = encode([long, { ...long, name: Buffer.from('b') }]);
  for (let cut = 0; cut <= tar.length - 1024; cut += 64) {
    await assert.rejects(decode(tar.subarray(0, cut), 512), { code: 'invalid_archive' }, `cut at ${cut}`);
  }
});

test('noise is refused with invalid_archive and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 3000 }), async (bytes) => {
      const noise = Buffer.concat([Buffer.from([1]), bytes]);
      await assert.rejects(decode(noise, 512), { code: 'invalid_archive' });
    }),
    { numRuns: 100 },
  );
});

test('a flipped byte in a header is noticed', async () => {
  const tar = encode([
    {
      type: 'dir',
      name: Buffer.from('d'),
      link: Buffer.alloc(0),
      mode: 0o755,
      uid: 1,
      gid: 2,
      size: 0,
      mtimeNs: 0n,
      content: Buffer.alloc(0),
    },
  ]);
  for (let at = 0; at < 512; at++) {
    const bad = Buffer.from(tar);
    bad[at]! ^= 0x01;
    await assert.rejects(decode(bad, 512), { code: 'invalid_archive' }, `byte ${at}`);
  }
});

test('devices, FIFOs and sparse files are refused by name', async () => {
  for (const type of ['3', '4', '6', 'S']) {
    const header = encodeTarHeader({
      type: 'file',
      name: Buffer.from('odd'),
      link: Buffer.alloc(0),
      mode: 0,
      uid: 0,
      gid: 0,
      size: 0,
      mtimeNs: 0n,
    });
    header[156] = type.charCodeAt(0);
    header.fill(0x20, 148, 156);
    header.write(
      `${header
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
      'latin1',
    );
    await assert.rejects(decode(Buffer.concat([header, Buffer.alloc(1024)]), 512), {
      code: 'invalid_archive',
      message: /"odd"/,
    });
  }
});

test('an extended header says what it means or is refused', () => {
  assert.equal(
    parsePax(Buffer.from('15 path=\xff\xfe/x y\n', 'latin1')).get('path')!.toString('latin1'),
    '\xff\xfe/x y',
  );
  for (const bad of ['x', '5 a=b', '6 a=bc\n', '99 a=b\n', '7 noequ\n']) {
    assert.throws(() => parsePax(Buffer.from(bad)), { code: 'invalid_archive' }, bad);
  }
});

test('archives of GNU tar in each of its formats are understood, and it understands ours', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'viv-tar-'));
  try {
    const long = 'l'.repeat(90);
    mkdirSync(join(dir, 'in', long, long), { recursive: true });
    const path = Buffer.concat([Buffer.from(join(dir, 'in', long, long)), Buffer.from('/\xff\xe9', 'latin1')]);
    writeFileSync(path, 'odd');
    utimesSync(path, 1_000_000_000, 1_000_000_000);
    for (const format of ['gnu', 'pax', 'ustar', 'oldgnu']) {
      const tar = join(dir, `${format}.tar`);
      execFileSync('tar', ['-C', dir, `--format=${format}`, '-cf', tar, 'in']);
      const found = (await decode(readFileSync(tar), 4096)).at(-1)!;
      assert.equal(found.name.toString('latin1'), `in/${long}/${long}/\xff\xe9`, format);
      assert.deepEqual([found.content.toString(), found.mtimeNs], ['odd', 1_000_000_000_000_000_000n], format);
    }
    const back = await decode(readFileSync(join(dir, 'gnu.tar')), 4096);
    writeFileSync(join(dir, 'ours.tar'), encode(back));
    mkdirSync(join(dir, 'out'));
    execFileSync('tar', ['-C', join(dir, 'out'), '-xf', join(dir, 'ours.tar')]);
    const out = Buffer.concat([Buffer.from(join(dir, 'out', 'in', long, long)), Buffer.from('/\xff\xe9', 'latin1')]);
    assert.equal(readFileSync(out, 'utf8'), 'odd');
    assert.equal(statSync(out).mtimeMs, 1_000_000_000_000);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
