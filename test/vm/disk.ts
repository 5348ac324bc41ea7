import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');

/** What the guest needs to be a node: the same packages that set-up installs, and a kernel. */
const PACKAGES = [
  'linux-image-cloud-amd64',
  'initramfs-tools',
  'busybox-static',
  'crun',
  'btrfs-progs',
  'erofs-utils',
  'iproute2',
  'kmod',
  'procps',
  'util-linux',
];

/** First process of the guest: mounts what an init system would, runs the checks, powers off. Never a login. */
const INIT = `#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys 2>/dev/null
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm /repo
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup
modprobe -a erofs overlay btrfs loop 2>/dev/null
ip link set lo up
mount -t erofs -o ro /dev/vdb /repo
/repo/node_modules/.bin/node /repo/test/vm/inside.ts </dev/null 2>&1
code=$?
echo
echo "VM-EXIT $code"
sync
echo o > /proc/sysrq-trigger
sleep 10
`;

export type Disks = { kernel: string; initrd: string; root: string; repo: string };

/** Makes (or takes from the cache) a Debian 12 root disk, and a disk with the working tree. */
export async function makeDisks(cacheDir: string, workDir: string): Promise<Disks> {
  const key = createHash('sha256').update(INIT).update(PACKAGES.join()).digest('hex').slice(0, 12);
  const dir = join(cacheDir, `vm-bookworm-${key}`);
  if (!existsSync(dir)) await makeRoot(dir);
  const root = join(workDir, 'root.img');
  await run('cp', ['--sparse=always', '--reflink=auto', join(dir, 'root.img'), root]);
  return { kernel: join(dir, 'vmlinuz'), initrd: join(dir, 'initrd.img'), root, repo: await makeRepoDisk(workDir) };
}

async function makeRoot(dir: string): Promise<void> {
  mkdirSync(join(dir, '..'), { recursive: true });
  const temp = mkdtempSync(`${dir}.making-`);
  try {
    const tree = join(temp, 'tree');
    await run('mmdebstrap', ['--quiet', '--variant=minbase', `--include=${PACKAGES.join(',')}`, 'bookworm', tree], {
      maxBuffer: 64 << 20,
    });
    writeFileSync(join(tree, 'vm-init'), INIT);
    chmodSync(join(tree, 'vm-init'), 0o755);
    cpSync(globSync(join(tree, 'boot/vmlinuz-*'))[0]!, join(temp, 'vmlinuz'));
    cpSync(globSync(join(tree, 'boot/initrd.img-*'))[0]!, join(temp, 'initrd.img'));
    await run('truncate', ['-s', '8G', join(temp, 'root.img')]);
    await run('mke2fs', ['-q', '-t', 'ext4', '-d', tree, join(temp, 'root.img')]);
    rmSync(tree, { recursive: true });
    renameSync(temp, dir);
  } catch (error) {
    rmSync(temp, { recursive: true, force: true });
    throw error;
  }
}

/** Only what a node runs from: sources, viv-init, and the run-time dependencies. */
async function makeRepoDisk(workDir: string): Promise<string> {
  const tree = join(workDir, 'repo');
  mkdirSync(join(tree, 'guest'), { recursive: true });
  const skip = /node_modules\/(\.cache|@biomejs|typescript|fast-check)(\/|$)/;
  for (const name of ['package.json', 'packages', 'bin', 'test', 'node_modules']) {
    cpSync(join(ROOT, name), join(tree, name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !skip.test(path),
    });
  }
  cpSync(join(ROOT, 'guest/build'), join(tree, 'guest/build'), { recursive: true });
  const image = join(workDir, 'repo.erofs');
  await run('mkfs.erofs', ['-d0', image, tree], { maxBuffer: 256 << 20 });
  rmSync(tree, { recursive: true });
  return image;
}
