import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const BUSYBOX = '/bin/busybox';

/** Makes any system call: `syscall NUMBER ARGUMENT…` prints the result or the error number, negative. */
const SYSCALL_SOURCE = `
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  long a[7] = {0};
  for (int i = 1; i < argc && i < 8; i++) a[i - 1] = strtol(argv[i], NULL, 0);
  long r = syscall(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
  printf("%ld\\n", r == -1 ? -(long)errno : r);
  return 0;
}
`;

/** Two layers, lowest first, as EROFS files in `dir`: busybox with a few users; the tool \`syscall\`. Needs busybox-static, musl-tools and erofs-utils. */
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
  writeFileSync(join(dir, 'syscall.c'), SYSCALL_SOURCE);
  execFileSync('musl-gcc', ['-static', '-Os', '-o', join(tools, 'usr/bin/syscall'), join(dir, 'syscall.c')]);

  return [base, tools].map((tree) => {
    execFileSync('mkfs.erofs', ['-d0', `${tree}.erofs`, tree], { stdio: 'ignore' });
    return `${tree}.erofs`;
  });
}
