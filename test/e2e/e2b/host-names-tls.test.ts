import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';
import { DOMAIN, type HostNames, setUpHostNames } from '../../harness/host-names.ts';
import { freePort } from '../../harness/registry.ts';

/** Each program is a client of its own process, told the domain and nothing else. */
const PROGRAMS = join(import.meta.dirname, 'programs');

let names: HostNames;
let node: E2bNode;
let domain: string;

before(async () => {
  names = await setUpHostNames();
  const port = await freePort();
  domain = `${DOMAIN}:${port}`;
  node = await startE2bNode({ port, up: { domain, tlsCert: names.certificate, tlsKey: names.key } });
});
after(async () => {
  await node.close();
  names.close();
});

describe('by host name over TLS, with an authority of one’s own', () => {
  test('the client finds the control plane and the sandbox, and ports of the sandbox are URLs', async () => {
    assert.match(await client('by-host-name.ts'), /^all is well\n$/);
  });

  test('e2b 1.13, which knows no other way, creates, runs, writes, lists, pauses, resumes and kills', async () => {
    assert.match(await client('oldest-client.ts'), /^all is well\n$/);
  });

  test('a WebSocket reaches a port of the sandbox', async () => {
    assert.match(await client('web-socket.ts'), /^all is well\n$/);
  });

  test('ports are for holders of the traffic token where they are not public; hosts are masked; inner TLS is spoken', async () => {
    assert.match(await client('public-ports.ts'), /^all is well\n$/);
  });

  test('a client that does not trust the authority refuses', async () => {
    const env = { E2B_API_KEY: node.connection.apiKey, E2B_DOMAIN: domain, NODE_EXTRA_CA_CERTS: '', ...unset };
    await assert.rejects(names.run([process.execPath, join(PROGRAMS, 'by-host-name.ts')], env), /certificate/);
  });
});

/** What other tests of this process may have set. */
const unset = { E2B_API_URL: '', E2B_SANDBOX_URL: '', E2B_VOLUME_API_URL: '' };

async function client(program: string): Promise<string> {
  const env = { E2B_API_KEY: node.connection.apiKey, E2B_DOMAIN: domain, ...unset };
  const argv = [process.execPath, '--disable-warning=ExperimentalWarning', join(PROGRAMS, program)];
  return (await names.run(argv, env)).stdout;
}
