/**
 * A reward model's check of code: every candidate runs against every test case, each in a clean container. Needs a running node.
 * Run: node examples/ts/reward.ts
 */
import { BASE_IMAGE, Vivarium } from '@vivarium/sdk';
import { localConnection } from '@vivarium/sdk/node';

const CANDIDATES = [
  'print(sum(int(word) for word in input().split()))',
  'a, b = input().split(); print(int(a) + int(b))',
  'print(input().replace(" ", "+"))',
  'while True: pass',
];
const CASES = [
  { stdin: '1 2\n', wanted: '3' },
  { stdin: '1 2 3\n', wanted: '6' },
];

await using viv = new Vivarium(localConnection());
const passes = async (code: string, { stdin, wanted }: (typeof CASES)[number]) => {
  const { stdout, ok } = await viv.fn.run({ image: BASE_IMAGE, language: 'python', code, stdin, timeoutMs: 1_000 });
  return ok && stdout.trim() === wanted;
};
const rewards = await Promise.all(
  CANDIDATES.map(async (code) => {
    const passed = await Promise.all(CASES.map((one) => passes(code, one)));
    return passed.filter(Boolean).length / CASES.length;
  }),
);
for (const [at, code] of CANDIDATES.entries()) console.log(rewards[at]!.toFixed(2), code);
