import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Testbed } from './testbed.ts';

/**
 * The same job by podman with its default profile: `run --rm` of `true` on the same root file system, 16 at a time.
 * podman's runtime refuses a hybrid cgroup tree, so it runs in a mount namespace of its own without the v2 tree.
 * @returns containers per second, or null where podman is not installed.
 */
export async function podmanChurn(bed: Testbed, count = 96): Promise<number | null> {
  const work = join(bed.stateDir, 'podman');
  mkdirSync(work, { recursive: true });
  const layers = join(bed.stateDir, 'layers');
  const biggest = readdirSync(layers)
    .filter((name) => name.endsWith('.erofs'))
    .map((name) => ({ name, size: statSync(join(layers, name)).size }))
    .sort((a, b) => b.size - a.size)[0];
  if (biggest === undefined) throw new Error('no layer to give to podman');
  const script = join(work, 'peer.sh');
  writeFileSync(script, peerScript(work, join(layers, biggest.name), count));
  try {
    const out = await capture('unshare', ['--mount', '--propagation', 'private', 'sh', script]);
    const found = /podman_ns=(\d+) failed=(\d+)/.exec(out);
    if (/podman: not found/.test(out)) return null;
    if (found === null || Number(found[2]) > 0) throw new Error(`podman peer: ${out.slice(-1500)}`);
    return (count * 1e9) / Number(found[1]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function peerScript(work: string, layer: string, count: number): string {
  return `set -u
command -v podman >/dev/null || { echo 'podman: not found'; exit 0; }
grep -q . /sys/fs/cgroup/unified/cgroup.controllers 2>/dev/null && umount /sys/fs/cgroup/unified
P="podman --root ${work}/root --runroot ${work}/runroot --cgroup-manager cgroupfs"
mkdir -p ${work}/mnt && mount -t erofs -o ro,loop ${layer} ${work}/mnt || exit 1
tar -C ${work}/mnt -cf - . | $P import - localhost/peer:1 >/dev/null 2>&1 || { echo import failed; exit 1; }
umount ${work}/mnt
one() { $P run --rm --network none --ulimit nofile=4096:4096 --ulimit nproc=1000:1000 localhost/peer:1 true >/dev/null 2>>${work}/err || echo x >>${work}/failed; }
one; rm -f ${work}/failed
s=$(date +%s%N)
i=0; while [ $i -lt 16 ]; do ( n=0; while [ $n -lt ${Math.ceil(count / 16)} ]; do one; n=$((n+1)); done ) & i=$((i+1)); done; wait
e=$(date +%s%N)
f=0; [ -f ${work}/failed ] && f=$(wc -l <${work}/failed) && tail -3 ${work}/err
$P rmi -f localhost/peer:1 >/dev/null 2>&1
$P system reset -f >/dev/null 2>&1
umount -R ${work}/root/overlay 2>/dev/null
find /sys/fs/cgroup/*/libpod_parent /sys/fs/cgroup/libpod_parent -depth -type d -exec rmdir {} + 2>/dev/null
echo "podman_ns=$((e-s)) failed=$f"
`;
}

function capture(program: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const keep = (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-64_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('exit', () => resolve(text));
  });
}
