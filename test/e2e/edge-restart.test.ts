import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';

/** Kill -9 of the server at any moment loses no sandbox, no running command and no recorded result (design, invariant 3). */
let node: TestNode;
before(async () => {
  node = await startTestNode();
});
after(() => node.purge());

const SANDBOXES = 24;
const WRITING = 12;
const LINES = 600;

test('kill -9 of the server: every sandbox is adopted, every command ends with its own code and exact output', async () => {
  const made = await Promise.all(
    Array.from({ length: SANDBOXES }, () => node.viv.sandboxes.create({ image: IMAGE, ttlS: 600 })),
  );
  const writing = await Promise.all(
    made.slice(0, WRITING).map(async (sandbox, i) => {
      const program = `import time\nfor n in range(${LINES}):\n  print(${i}, n, "x" * 100, flush=True)\n  time.sleep(0.01)\nraise SystemExit(${i + 1})`;
      return { sandbox, i, exec: await sandbox.start(['python3', '-c', program]) };
    }),
  );
  for (let round = 0; round < 2; round++) {
    await new Promise((resolve) => setTimeout(resolve, 700));
    await node.kill9();
    await node.start();
  }
  for (const { sandbox, i, exec } of writing) {
    const result = await (await sandbox.attach(exec.id)).result();
    const expected = Array.from({ length: LINES }, (_, n) => `${i} ${n} ${'x'.repeat(100)}\n`).join('');
    assert.equal(result.exitCode, i + 1);
    assert.equal(result.stdout, expected);
  }
});
