import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { served } from '../../testing/served.ts';
import { admitFiles, signedBy } from './signature.ts';

const TOKEN = 'the-token';
const NOW_S = Math.floor(Date.now() / 1000);

const sign = (...parts: (string | number)[]) =>
  `v1_${createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '')}`;
const asked = (method: string, query: Record<string, string>, headers: Record<string, string> = {}) =>
  ({ method, url: `/files?${new URLSearchParams(query)}`, headers }) as unknown as IncomingMessage;
const refused = (req: IncomingMessage, message: string) =>
  assert.throws(() => admitFiles(req, TOKEN), { code: 'unauthenticated', message });

test('a signature is over path, operation, user, token and time', () => {
  const path = 'a b/ü+:.txt';
  admitFiles(asked('GET', { path, signature: sign(path, 'read', '', TOKEN) }), TOKEN);
  admitFiles(asked('HEAD', { path, username: 'root', signature: sign(path, 'read', 'root', TOKEN) }), TOKEN);
  const expires = NOW_S + 60;
  const signature = sign(path, 'write', '', TOKEN, expires);
  admitFiles(asked('POST', { path, signature, signature_expiration: `${expires}` }), TOKEN);
  refused(asked('GET', { path, signature, signature_expiration: `${expires}` }), 'invalid signature');
  refused(asked('POST', { path, signature }), 'invalid signature');
  refused(asked('POST', { path: 'other', signature, signature_expiration: `${expires}` }), 'invalid signature');
  assert.throws(() => admitFiles(asked('POST', { path, signature, signature_expiration: `${expires}` }), 'other'));
});

test('one that has expired, or whose time is none, is refused though it is right', () => {
  for (const expires of [NOW_S - 5, -1, 'never', '']) {
    const signature = sign('x', 'read', '', TOKEN, expires);
    const req = asked('GET', { path: 'x', signature, signature_expiration: `${expires}` });
    if (expires !== '') refused(req, 'signature is already expired');
    assert.equal(signedBy(req, TOKEN), true, `${expires}`);
  }
});

test('the token in the header counts, and a wrong one is not helped by a signature', () => {
  const signature = sign('x', 'read', '', TOKEN);
  admitFiles(asked('GET', { path: 'x' }, { 'x-access-token': TOKEN }), TOKEN);
  refused(
    asked('GET', { path: 'x', signature }, { 'x-access-token': 'wrong' }),
    'access token present in header but does not match',
  );
  refused(asked('GET', { path: 'x' }), 'missing signature query parameter');
});

test('a signature is good for the user that it names, whatever else the request says', async () => {
  await using api = await served();
  const { id, token } = await api.create();
  const query = new URLSearchParams({ path: 'x', username: 'user', signature: sign('x', 'write', 'user', token) });
  const answer = await fetch(`${api.url}/files?${query}`, {
    method: 'POST',
    headers: {
      'e2b-sandbox-id': id,
      'content-type': 'application/octet-stream',
      authorization: `Basic ${btoa('root:')}`,
    },
    body: 'content',
  });
  assert.deepEqual(await answer.json(), [{ name: 'x', path: '/home/user/x', type: 'file' }]);
});
