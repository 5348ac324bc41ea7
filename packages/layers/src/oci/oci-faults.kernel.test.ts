import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { VivError } from '@vivarium/protocol';
import type { ImageStore } from '../store.ts';
import { archiveOf, chunked } from '../testing/archives.ts';
import { mountTmpfs } from '../testing/mount.ts';
import { gzip, ociArchive, zstd } from '../testing/oci-image.ts';
import { finish, never, type Place, place } from '../testing/place.ts';

async function setup(context: TestContext): Promise<{ at: Place; store: ImageStore }> {
  const at = place(context);
  return { at, store: await at.open() };
}

const imported = (store: ImageStore, body: Buffer, signal = never()) =>
  finish(store.importOci({ name: 'x@1', config: {} }, chunked(body), signal));

function requireNothing({ stateDir }: Place): void {
  assert.deepEqual(
    readdirSync(`${stateDir}/layers`).filter((name) => name.endsWith('.erofs')),
    [],
  );
  assert.deepEqual(readdirSync(`${stateDir}/tmp`), []);
}

/** Processes of ours that convert. */
function workers(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .filter((pid) => {
      try {
        const parent = / \(.*\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
        return (
          parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('convert-main')
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function workerPid(): Promise<number> {
  for (;;) {
    const [pid] = workers();
    if (pid !== undefined) return pid;
    await sleep(2);
  }
}

const big = async () => archiveOf([{ name: 'big', body: Buffer.alloc(64 * 1024 ** 2, 'x') }]);

test('a layer of several gzip members or zstd frames is read whole', async (t) => {
  for (const pack of [gzip, zstd]) {
    const { store } = await setup(t);
    const layer = await archiveOf([{ name: 'a', body: Buffer.alloc(100_000, 'a') }]);
    const parts = [layer.subarray(0, 50_000), layer.subarray(50_000)];
    const joined = Buffer.concat(parts.map(pack));
    const { image } = await imported(store, await ociArchive({ layers: [joined] }));
    assert.ok(image.sizeBytes > 100_000);
    await store.close();
  }
});

test('an import whose worker is killed fails, and leaves nothing', async (t) => {
  const { at, store } = await setup(t);
  const importing = imported(store, await ociArchive({ layers: [gzip(await big())] }));
  process.kill(await workerPid(), 'SIGKILL');
  await assert.rejects(importing, { code: 'internal', message: /process ended \(SIGKILL\)/ });
  requireNothing(at);
  await imported(store, await ociArchive({ layers: [gzip(await big())] }));
});

test('a canceled import leaves nothing, and no worker', async (t) => {
  const { at, store } = await setup(t);
  const cancel = new AbortController();
  const importing = imported(store, await ociArchive({ layers: [gzip(await big())] }), cancel.signal);
  await workerPid();
  cancel.abort();
  await assert.rejects(importing, { code: 'import_failed', message: /canceled/ });
  requireNothing(at);
  while (workers().length > 0) await sleep(10);
});

test('a layer that unpacks to more than the disk has is refused before the disk is full', async (t) => {
  const at = place(t);
  mountTmpfs(at.make('state'), 120 * 1024);
  const store = await at.open();
  const bomb = gzipSync(await archiveOf([{ name: 'zeros', body: Buffer.alloc(300 * 1024 ** 2) }]), { level: 1 });
  const body = await ociArchive({ layers: [bomb] });
  await assert.rejects(imported(store, body), (thrown: VivError) => thrown.code === 'node_disk_full');
  requireNothing(at);
});

test('a body that breaks off leaves nothing', async (t) => {
  const { at, store } = await setup(t);
  const body = await ociArchive({ layers: [gzip(await archiveOf([{ name: 'a', body: 'a' }]))] });
  async function* broken() {
    yield body.subarray(0, 2000);
    throw new Error('the client is gone');
  }
  const importing = finish(store.importOci({ name: 'x@1', config: {} }, broken(), never()));
  await assert.rejects(importing, { code: 'invalid_image', message: /broke off: the client is gone/ });
  requireNothing(at);
});
