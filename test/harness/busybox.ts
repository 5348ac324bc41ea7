import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const APPLETS = [
  'sh',
  'cat',
  'chmod',
  'chown',
  'cp',
  'dd',
  'echo',
  'env',
  'false',
  'find',
  'id',
  'kill',
  'ln',
  'ls',
  'mkdir',
  'mv',
];
const MORE = [
  'pwd',
  'readlink',
  'rm',
  'sed',
  'sleep',
  'sort',
  'stat',
  'test',
  'touch',
  'true',
  'wget',
  'yes',
  'head',
  'seq',
  'nc',
];

/** A root file system of one program, as a tar: small enough to build on it in every test. */
export function busyboxTar(directory: string): Buffer {
  const root = join(directory, 'busybox-root');
  for (const path of ['bin', 'dev', 'etc', 'proc', 'root', 'sys', 'usr/local/bin', 'var/data', 'run'])
    mkdirSync(join(root, path), { recursive: true });
  mkdirSync(join(root, 'tmp'));
  execFileSync('chmod', ['1777', join(root, 'tmp')]);
  execFileSync('cp', ['/bin/busybox', join(root, 'bin/busybox')]);
  for (const name of [...APPLETS, ...MORE]) symlinkSync('busybox', join(root, 'bin', name));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001:app:/home/app:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nstaff:x:50:\napp:x:1001:\n');
  symlinkSync('/var/data', join(root, 'data'));
  const tar = join(directory, 'busybox.tar');
  execFileSync('tar', ['-C', root, '--numeric-owner', '--owner=0', '--group=0', '-cf', tar, '.']);
  return readFileSync(tar);
}
