import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ImageImport, VivError } from '@vivarium/protocol';
import { finish, never, type Place, place } from '../testing/place.ts';

const REQUEST = ImageImport.parse({ name: 'base@1', source: { type: 'debootstrap', suite: 'bookworm' } });

/** A mirror on loopback that answers with `answer`, or (without one) never. */
async function mirror(context: TestContext, answer?: number): Promise<{ url: string; asked: Promise<unknown> }> {
  const server = createServer((_request, response) => {
    if (answer !== undefined) response.writeHead(answer).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/debian`, asked: once(server, 'request') };
}

/** Command lines of processes that name the directory, but for this one's. */
function processesNaming(directory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(directory));
}

function assertNothingLeft(at: Place): void {
  assert.deepEqual(readdirSync(join(at.stateDir, 'tmp')), []);
  assert.deepEqual(readdirSync(join(at.stateDir, 'layers')), []);
  assert.deepEqual(readdirSync(join(at.stateDir, 'images')), []);
  assert.deepEqual(processesNaming(at.stateDir), []);
  assert.equal(readFileSync('/proc/self/mountinfo', 'latin1').includes(at.stateDir), false);
}

test('a mirror without the suite is an import_failed with what the tool said, and leaves nothing', async (t) => {
  const at = place(t);
  const { url } = await mirror(t, 404);
  const store = await at.open({ debianMirror: url });
  await assert.rejects(finish(store.import(REQUEST, never())), (error) => {
    assert.ok(error instanceof VivError);
    assert.equal(error.code, 'import_failed');
    assert.match(String(error.details.output), /Release/);
    return true;
  });
  assertNothingLeft(at);
});

test('an abort in mid-bootstrap ends every process of it and leaves nothing', async (t) => {
  const at = place(t);
  const { url, asked } = await mirror(t);
  const store = await at.open({ debianMirror: url });
  const controller = new AbortController();
  const importing = finish(store.import(REQUEST, controller.signal));
  await asked;
  assert.notDeepEqual(processesNaming(at.stateDir), []);
  controller.abort();
  await assert.rejects(
    importing,
    (error) => error instanceof VivError && error.code === 'import_failed' && /canceled/.test(error.message),
  );
  assertNothingLeft(at);
});
