import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

/** Content of files by path; `{ link }` makes a symbolic link; undefined leaves a file of the plain task out. */
export type Files = Record<string, string | Buffer | { link: string } | undefined>;

/** The smallest sound task. */
export const PLAIN: Files = {
  'task.toml': '',
  'instruction.md': 'Write "hello" to /app/hello.txt.\n',
  'environment/Dockerfile': 'FROM base/debian@12\nWORKDIR /app\n',
  'tests/test.sh': '#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n',
  'solution/solve.sh': '#!/bin/bash\necho hello > /app/hello.txt\n',
};

/** A temporary directory that goes away with the test. */
export async function temporary(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'viv-task-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** A task directory `name`: the plain task with `files` laid over it. */
export async function taskDirectory(t: TestContext, files: Files = {}, name = 'sample'): Promise<string> {
  return writeTask(join(await temporary(t), name), files);
}

export async function writeTask(dir: string, files: Files = {}): Promise<string> {
  for (const [path, content] of Object.entries({ ...PLAIN, ...files })) {
    if (content === undefined) continue;
    const file = join(dir, path);
    await mkdir(dirname(file), { recursive: true });
    if (typeof content === 'object' && 'link' in content) await symlink(content.link, file);
    else await writeFile(file, content, { mode: path.endsWith('.sh') ? 0o755 : 0o644 });
  }
  return dir;
}
