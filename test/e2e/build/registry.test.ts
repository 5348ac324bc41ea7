import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { VivError } from '@vivarium/sdk';
import { BUSYBOX, type BuildNode, made, said, startBuildNode } from '../../harness/build-node.ts';
import { buildahIn, freePort, lacksOciTools, startRegistry } from '../../harness/registry.ts';

describe('an image of a registry', { skip: lacksOciTools() }, () => {
  let build: BuildNode;
  let registry: ChildProcess;
  let host: string;
  before(async () => {
    build = await startBuildNode();
    host = `127.0.0.1:${await freePort()}`;
    registry = await startRegistry(build.work, host);
    push(build.work, `${host}/team/busybox:1`);
    writeFileSync(join(build.node.paths.stateDir, 'registries.json'), JSON.stringify({ plainHttp: [host] }));
  });
  after(async () => {
    registry.kill('SIGKILL');
    await build.close();
  });

  test('is what FROM names and files are copied from; it is brought once', async () => {
    const source = `FROM ${host}/team/busybox:1\nRUN id -un; echo $MADE\nFROM ${BUSYBOX}\nCOPY --from=0 /bin/busybox /one\nCOPY --from=${host}/team/busybox:1 /bin/busybox /two\n`;
    const directory = build.context(source);
    const { events } = await build.build(directory);
    assert.equal(said(events), 'app\nby-buildah\n');
    assert.equal(made(events), 3);
    registry.kill('SIGKILL');
    const again = await build.build(directory);
    assert.equal(made(again.events), 0);
  });

  test('that can’t be brought is named with its line', async () => {
    await assert.rejects(build.build(build.context(`FROM ${host}/team/other:2`)), (thrown: VivError) => {
      assert.deepEqual([thrown.code, thrown.fault, thrown.details.line], ['image_not_found', 'task', 1]);
      assert.match(thrown.message, /^Dockerfile:1: FROM .*team\/other:2/);
      return true;
    });
  });
});

function push(work: string, reference: string): void {
  const buildah = buildahIn(work);
  const container = buildah('from', 'scratch');
  buildah('add', '-q', container, join(work, 'busybox.tar'), '/');
  buildah('config', '--env', 'MADE=by-buildah', '--user', 'app', container);
  buildah('commit', '-q', container, 'pushed');
  buildah('push', '-q', '--tls-verify=false', 'pushed', `docker://${reference}`);
}
