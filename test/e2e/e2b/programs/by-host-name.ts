/** A client in its documented form: two environment variables, E2B_API_KEY and E2B_DOMAIN. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox, Volume } from 'e2b';

const sandbox = await Sandbox.create('base', { metadata: { by: 'host name' } });
assert.equal((await sandbox.commands.run('echo hello')).stdout, 'hello\n');
await sandbox.files.write('file', 'by TLS');
assert.equal(await sandbox.files.read('file'), 'by TLS');
assert.equal(await (await fetch(await sandbox.downloadUrl('file'))).text(), 'by TLS');

const volume = await Volume.create(`tls-${process.pid}`);
await volume.writeFile('/inside', 'a volume');
assert.equal(await volume.readFile('/inside'), 'a volume');
await Volume.destroy(volume.volumeId);

const url = `https://${sandbox.getHost(8000)}`;
const closed = await fetch(url);
assert.equal(closed.status, 502);
assert.match((await closed.json()).message, /port is not open/);
await sandbox.commands.run('mkdir www; echo served > www/index.html');
await sandbox.commands.run('python3 -m http.server 8000 --directory www', { background: true, timeoutMs: 0 });
assert.equal(await served(url), 'served\n');
await sandbox.pause();
assert.equal((await fetch(url)).status, 502);
await sandbox.connect();
assert.equal(await served(url), 'served\n');

await sandbox.kill();
const gone = await fetch(url);
assert.equal(gone.status, 502);
assert.deepEqual(await gone.json(), { sandboxId: sandbox.sandboxId, message: 'The sandbox was not found', code: 502 });
console.log('all is well');
process.exit(0);

async function served(at: string): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const response = await fetch(at);
    const text = await response.text();
    if (response.status === 200) return text;
    assert.ok(tries < 100, `${response.status} ${text}`);
    await delay(100);
  }
}
