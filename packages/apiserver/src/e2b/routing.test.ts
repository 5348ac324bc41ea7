import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { e2bTarget, sandboxId } from './routing.ts';

const ID = '0123456789abcdefghij';
const target = (url: string, headers: Record<string, string> = {}, domain?: string) =>
  e2bTarget({ url, headers } as unknown as IncomingMessage, domain);

test('headers name a sandbox where the host says nothing', () => {
  const headers = { 'e2b-sandbox-id': ID, 'e2b-sandbox-port': '49999' };
  const port = { kind: 'port', id: ID, port: 49_999, byHost: false };
  for (const host of ['localhost', 'localhost:7700', '127.0.0.1:7700', '10.0.0.3', '[::1]:7700', 'sandbox.viv.test:9'])
    assert.deepEqual(target('/execute', { ...headers, host }, 'viv.test'), port, host);
  for (const host of ['evil.test', 'viv.test', 'sandbox.evil.test', 'a.sandbox.viv.test'])
    assert.equal(target('/execute', { ...headers, host }, 'viv.test'), undefined, host);
});

test('a sandbox named by a header without a port is asked at the port of envd', () => {
  assert.deepEqual(target('/health', { host: 'localhost', 'e2b-sandbox-id': ID }), {
    kind: 'port',
    id: ID,
    port: 49_983,
    byHost: false,
  });
});

test('a host name leads to a port, whatever the headers and the path say', () => {
  const headers = { host: `8000-${ID}.viv.test:7700`, 'e2b-sandbox-id': 'other', 'e2b-sandbox-port': '1' };
  const port = { kind: 'port', id: ID, port: 8000, byHost: true };
  assert.deepEqual(target('/sandboxes', headers, 'viv.test:7700'), port);
  assert.deepEqual(target('/v1/node', headers, 'Viv.Test'), port);
  assert.deepEqual(
    target('/', { host: `8000-${ID}-client1.viv.test` }, 'viv.test'),
    port,
    'with a client id, as old ones do',
  );
  assert.equal(target('/', { host: `8000-${ID}.other.test` }, 'viv.test'), undefined);
  assert.equal(target('/', { host: `8000-${ID}.viv.test` }), undefined, 'without a domain there are no host names');
});

test('impossible ports are refused', () => {
  for (const port of ['0', '65536', 'x', '-1', '1.5', ''])
    assert.throws(
      () => target('/', { host: 'localhost', 'e2b-sandbox-id': ID, 'e2b-sandbox-port': port }),
      /ports are 1 to/,
    );
  assert.throws(() => target('/', { host: `99999-${ID}.viv.test` }, 'viv.test'), /ports are 1 to/);
});

test('paths of the control plane are known with and without their versions, native ones are not among them', () => {
  for (const url of [
    '/sandboxes',
    '/v2/sandboxes?limit=1',
    '/sandboxes/x',
    '/v3/templates',
    '/snapshots',
    '/volumes',
    '/volumecontent/x/dir',
    '/health',
  ])
    assert.deepEqual(target(url, { host: 'localhost' }), { kind: 'control', path: url.split('?')[0] }, url);
  for (const url of ['/v1/sandboxes', '/v1/volumes', '/healthz', '/metrics', '/openapi.json', '/', '/v1/connect'])
    assert.equal(target(url, { host: 'localhost' }), undefined, url);
  assert.deepEqual(target('/files?path=x', { host: 'localhost' }), { kind: 'signed' });
});

test('the id of a client behind that of a sandbox is dropped', () => {
  assert.equal(sandboxId(`${ID}-abc123`), ID);
  assert.equal(sandboxId(ID), ID);
  assert.equal(sandboxId('what/ever'), 'what/ever');
});
