import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNetwork, keptNetwork, shownNetwork } from './network-rules.ts';

const ALL = '0.0.0.0/0';

test('addresses and ranges may be allowed and denied, names allowed where all else is denied', () => {
  checkNetwork({});
  checkNetwork({ denyOut: ['8.8.8.8', '10.0.0.0/8', '::/0', '2001:db8::1', '1.1.1.1:443'], allowOut: ['1.1.1.1'] });
  checkNetwork({ denyOut: [ALL], allowOut: ['example.com', '*.example.com', 'a_b.example.com:8443', '1.1.1.1/32'] });
});

test('each thing that can not be meant is told with its value', () => {
  const refused = (network: Parameters<typeof checkNetwork>[0], message: RegExp) =>
    assert.throws(() => checkNetwork(network), message);
  refused({ denyOut: ['example.com'] }, /invalid denied CIDR example\.com/);
  refused({ denyOut: ['300.1.1.1'] }, /300\.1\.1\.1/);
  refused({ denyOut: ['10.0.0.0/33'] }, /10\.0\.0\.0\/33/);
  refused({ denyOut: [ALL], allowOut: ['10.0.0.0/40'] }, /invalid allowed address 10\.0\.0\.0\/40/);
  refused({ denyOut: [ALL], allowOut: ['300.1.1.1'] }, /invalid allowed address 300\.1\.1\.1/);
  refused({ denyOut: [ALL], allowOut: ['no spaces'] }, /no spaces/);
  refused({ allowOut: ['example.com'] }, /example\.com.*0\.0\.0\.0\/0/);
  refused({ denyOut: ['10.0.0.0/8'], allowOut: ['example.com'] }, /ALL_TRAFFIC/);
  refused({ maskRequestHost: 'a b' }, /mask request host is not valid: a b/);
  refused({ maskRequestHost: 'münchen.example' }, /not valid/);
  refused({ rules: { 'a b': [] } }, /rule domain "a b"/);
  refused({ egressProxy: { address: 'nowhere' } }, /"nowhere" is not HOST:PORT/);
});

// biome-ignore lint/suspicious/noTemplateCurlyInString: that is how clients write it
test('a mask may name the port', () => checkNetwork({ maskRequestHost: 'localhost:${PORT}' }));

test('the password of a proxy is never told', () => {
  const shown = shownNetwork({
    allowOut: ['1.1.1.1'],
    denyOut: null,
    egressProxy: { address: 'proxy.example:1080', username: 'me', password: 'secret' },
  });
  assert.deepEqual(shown, { allowOut: ['1.1.1.1'], egressProxy: { address: 'proxy.example:1080', username: 'me' } });
});

test('the password of a proxy that nothing uses is not kept', () => {
  const egressProxy = { address: 'proxy:1080', username: 'me', password: 'secret' };
  assert.deepEqual(keptNetwork({ allowOut: ['1.1.1.1'], egressProxy }), {
    allowOut: ['1.1.1.1'],
    egressProxy: { address: 'proxy:1080', username: 'me' },
  });
  assert.deepEqual(keptNetwork({ denyOut: [] }), { denyOut: [] });
});
