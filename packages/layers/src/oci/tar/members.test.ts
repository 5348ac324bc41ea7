import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { RangeReader } from '../file-range.ts';
import { fileContent } from '../layer/tar-file.ts';
import { Refusal } from '../refusal.ts';
import { type Member, readMembers } from './members.ts';

function directory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'viv-tar-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function readAll(path: string): { members: Member[]; bytes(member: Member): Buffer } {
  const reader = new RangeReader({ path, offset: 0, size: statSync(path).size });
  return {
    members: [...readMembers(reader)],
    bytes(member) {
      const content = fileContent(reader, member.size, member.segments);
      assert.ok(content.type === 'file');
      const buffer = Buffer.alloc(content.size, 1);
      const source = content.open();
      for (let at = 0; at < buffer.length; at += 7000) source.read(buffer.subarray(at, at + 7000), at);
      return buffer;
    },
  };
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const FORMATS = ['--format=gnu', ...['0.0', '0.1', '1.0'].map((version) => `--format=pax --sparse-version=${version}`)];

for (const format of FORMATS) {
  test(`sparse files of ${format} come out as they went in`, (t) => {
    const at = directory(t);
    const fd = openSync(join(at, 'holes'), 'w');
    for (let i = 0; i < 60; i++) writeSync(fd, randomBytes(5000), 0, 5000, i * 100_000 + 123);
    execFileSync('truncate', ['-s', '7000000', join(at, 'holes')]);
    writeFileSync(join(at, 'plain'), 'plain');
    execFileSync('tar', ['-C', at, ...format.split(' '), '--sparse', '-cf', join(at, 'a.tar'), 'holes', 'plain']);
    const { members, bytes } = readAll(join(at, 'a.tar'));
    assert.deepEqual(
      members.map(({ name }) => name.toString()),
      ['holes', 'plain'],
    );
    assert.ok(members[0]!.segments.length >= 60);
    assert.equal(digest(bytes(members[0]!)), digest(readFileSync(join(at, 'holes'))));
    assert.equal(bytes(members[1]!).toString(), 'plain');
  });
}

for (const format of ['gnu', 'pax', 'ustar', 'v7']) {
  test(`names, links, owners and times of ${format} archives`, (t) => {
    const at = directory(t);
    const long = format === 'v7' || format === 'ustar' ? 'short' : `${'d'.repeat(150)}/${'f'.repeat(200)}`;
    execFileSync('mkdir', ['-p', join(at, 't', long, '..')]);
    writeFileSync(join(at, 't', long), 'x');
    execFileSync('ln', ['-s', `/${long}`, join(at, 't/s')]);
    execFileSync('touch', ['-d', '2001-02-03T04:05:06Z', join(at, 't', long)]);
    execFileSync('tar', [
      '-C',
      join(at, 't'),
      `--format=${format}`,
      '--owner=12',
      '--group=34',
      '-cf',
      join(at, 'a.tar'),
      long,
      's',
    ]);
    const { members } = readAll(join(at, 'a.tar'));
    const [file, link] = members as [Member, Member];
    assert.equal(file.name.toString(), long);
    assert.equal(file.mtimeNs / 1_000_000_000n, BigInt(Date.parse('2001-02-03T04:05:06Z') / 1000));
    assert.deepEqual([file.uid, file.gid, link.type, link.link.toString()], [12, 34, '2', `/${long}`]);
  });
}

for (const type of ['0', 'L', 'x', 'S', 'g']) {
  test(`a member of type ${type} with a negative size is refused, not read again and again`, {
    timeout: 10_000,
  }, (t) => {
    const path = join(directory(t), 'a.tar');
    writeFileSync(path, Buffer.concat([headerOfSize(type, -512), Buffer.alloc(1024)]));
    assert.throws(() => readAll(path), { code: 'invalid_image', message: 'the archive is damaged: -512 is no size' });
  });
}

test('a map of a sparse file that is no list of numbers is refused at once', (t) => {
  const path = join(directory(t), 'a.tar');
  const pax = Buffer.from('22 GNU.sparse.major=1\n31 GNU.sparse.realsize=1000000\n');
  const blocks = [headerOfSize('x', pax.length), pax, Buffer.alloc(512 - pax.length), headerOfSize('0', 512_000)];
  writeFileSync(path, Buffer.concat([...blocks, Buffer.alloc(512_000, '1'), Buffer.alloc(1024)]));
  assert.throws(() => readAll(path), {
    code: 'invalid_image',
    message: /^the archive is damaged: '1{30}' is no number$/,
  });
});

test('any damage to an archive is read, or refused: never anything else', (t) => {
  const at = directory(t);
  writeFileSync(join(at, 'f'), randomBytes(2000));
  execFileSync('tar', ['-C', at, '--format=pax', '-cf', join(at, 'a.tar'), 'f']);
  const whole = readFileSync(join(at, 'a.tar'));
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), (where, byte, length) => {
      const damaged = Buffer.from(whole.subarray(0, length));
      if (where < length) damaged[where] = byte;
      writeFileSync(join(at, 'damaged.tar'), damaged);
      try {
        for (const member of readAll(join(at, 'damaged.tar')).members) assert.ok(member.size >= 0);
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error));
      }
    }),
    { numRuns: 300 },
  );
});

/** A GNU header with its size in base 256. */
function headerOfSize(type: string, size: number): Buffer {
  const block = Buffer.alloc(512);
  for (const [at, text] of [
    [0, 'f'],
    [100, '0000644'],
    [148, '        '],
    [156, type],
    [257, 'ustar  '],
  ] as const)
    block.write(text, at);
  block.fill(size < 0 ? 0xff : 0, 124, 136);
  block[124]! |= 0x80;
  block.writeInt32BE(size, 132);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}
