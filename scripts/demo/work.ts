import { AUTHOR, commitId } from './git-object.ts';

/** One piece of real work in a sandbox: files to put there, a command, what it must print. */
export type Work = {
  name: string;
  files: Record<string, string>;
  argv: string[];
  env?: Record<string, string>;
  expected: RegExp;
};

/** The work of sandbox `n`: each has other numbers, so a result can't come from another sandbox. */
export function workOf(n: number): Work[] {
  return [compile(n), pythonTests(n), commit(n)];
}

function compile(n: number): Work {
  const limit = 10_000 + n;
  const source = `#include <stdio.h>
int main(void) {
  long sum = 0;
  for (int i = 2; i < ${limit}; i++) {
    int prime = 1;
    for (int d = 2; d * d <= i; d++) if (i % d == 0) { prime = 0; break; }
    if (prime) sum += i;
  }
  printf("sum %ld\\n", sum);
}
`;
  return {
    name: 'compile and run C',
    files: { '/tmp/demo/primes.c': source },
    argv: ['sh', '-c', 'cd /tmp/demo && gcc -O1 -o primes primes.c && ./primes'],
    expected: new RegExp(`^sum ${sumOfPrimes(limit)}\n$`),
  };
}

function pythonTests(n: number): Work {
  const source = `import unittest

def fold(values):
    total = 0
    for value in values:
        total = (total * 31 + value) % 1000003
    return total

class FoldTest(unittest.TestCase):
    def test_value(self):
        self.assertEqual(fold(range(${n + 100})), ${fold(n + 100)})

    def test_empty(self):
        self.assertEqual(fold([]), 0)

    def test_order_matters(self):
        self.assertNotEqual(fold([1, 2, ${n}]), fold([${n}, 2, 1, 0]))
`;
  return {
    name: 'Python test file',
    files: { '/tmp/demo/test_fold.py': source },
    argv: ['sh', '-c', 'cd /tmp/demo && python3 -B -m unittest test_fold 2>&1'],
    expected: /Ran 3 tests[\s\S]*\nOK\n$/,
  };
}

function commit(n: number): Work {
  const file = { name: 'answer.txt', content: `sandbox ${n} was here\n` };
  const message = `Answer of sandbox ${n}`;
  const { name, email, date } = AUTHOR;
  return {
    name: 'git commit',
    files: { [`/tmp/demo/repo/${file.name}`]: file.content },
    argv: [
      'sh',
      '-c',
      'cd /tmp/demo/repo && git init -q && git add . && git commit -q -m "$MESSAGE" && git rev-parse HEAD && git status --short',
    ],
    env: {
      MESSAGE: message,
      HOME: '/tmp/demo',
      GIT_AUTHOR_NAME: name,
      GIT_AUTHOR_EMAIL: email,
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: name,
      GIT_COMMITTER_EMAIL: email,
      GIT_COMMITTER_DATE: date,
    },
    expected: new RegExp(`^${commitId(file, message)}\n$`),
  };
}

function sumOfPrimes(limit: number): number {
  let sum = 0;
  for (let i = 2; i < limit; i += 1) if (isPrime(i)) sum += i;
  return sum;
}

function isPrime(i: number): boolean {
  for (let d = 2; d * d <= i; d += 1) if (i % d === 0) return false;
  return true;
}

function fold(count: number): number {
  let total = 0;
  for (let value = 0; value < count; value += 1) total = (total * 31 + value) % 1_000_003;
  return total;
}
