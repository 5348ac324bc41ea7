import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SYSCALL, TAKE } from './test-tools.ts';

const BUSYBOX = '/bin/busybox';

/** Two layers, lowest first, as EROFS files in `dir`: busybox with a few users; the tools `syscall` and `take`. Needs busybox-static, musl-tools and erofs-utils. */
export function makeTestImage(dir: string): string[] {
  const base = join(dir, 'base');
  for (const name of ['bin', 'dev', 'etc', 'proc', 'root', 'run', 'sys', 'tmp', 'usr/bin', 'usr/sbin'])
    mkdirSync(join(base, name), { recursive: true });
  chmodSync(join(base, 'tmp'), 0o1777);
  copyFileSync(BUSYBOX, join(base, 'bin/busybox'));
  for (const name of execFileSync(BUSYBOX, ['--list'], { encoding: 'utf8' }).trim().split('\n'))
    if (name !== 'busybox') symlinkSync('busybox', join(base, 'bin', name));
  const users = ['root:x:0:0:root:/root:/bin/sh', 'user:x:1000:1000:user:/tmp:/bin/sh'];
  writeFileSync(join(base, 'etc/passwd'), `${users.join('\n')}\n`);
  writeFileSync(join(base, 'etc/group'), 'root:x:0:\nuser:x:1000:\n');

  const tools = join(dir, 'tools');
  mkdirSync(join(tools, 'usr/bin'), { recursive: true });
  for (const [name, source] of Object.entries({ syscall: SYSCALL, take: TAKE })) {
    writeFileSync(join(dir, `${name}.c`), source);
    execFileSync('musl-gcc', ['-static', '-Os', '-o', join(tools, 'usr/bin', name), join(dir, `${name}.c`)]);
  }

  return [base, tools].map((tree) => {
    execFileSync('mkfs.erofs', ['-d0', `${tree}.erofs`, tree], { stdio: 'ignore' });
    return `${tree}.erofs`;
  });
}
