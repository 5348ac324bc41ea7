import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ArchiveEnd } from './archive-end.ts';

async function pass(bytes: Buffer, cuts: number[], maxBytes = 1e9): Promise<{ end: ArchiveEnd; output: Buffer }> {
  const end = new ArchiveEnd(maxBytes);
  const chunks: Buffer[] = [];
  const reading = (async () => {
    for await (const chunk of end) chunks.push(chunk);
  })();
  let from = 0;
  for (const cut of [...cuts.map((c) => c % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    if (cut > from) end.write(bytes.subarray(from, cut));
    from = Math.max(from, cut);
  }
  end.end();
  await reading;
  return { end, output: Buffer.concat(chunks) };
}

test('however the stream is cut into chunks, the end is seen and the bytes pass', async () => {
  const property = fc.asyncProperty(
    fc.nat({ max: 6 }),
    fc.nat({ max: 1600 }),
    fc.array(fc.nat(), { maxLength: 8 }),
    async (blocks, zeros, cuts) => {
      const bytes = Buffer.concat([Buffer.alloc(blocks * 512, 'x'), Buffer.alloc(zeros)]);
      const { end, output } = await pass(bytes, cuts);
      assert.deepEqual(output, bytes);
      if (zeros >= 512 && zeros % 512 === 0) end.requireComplete();
      else assert.throws(() => end.requireComplete(), /truncated/);
    },
  );
  await fc.assert(property, { numRuns: 200 });
});

test('a stream past the bound fails', async () => {
  await assert.rejects(pass(Buffer.alloc(2048), [], 1024), /more than 1024 bytes/);
});
