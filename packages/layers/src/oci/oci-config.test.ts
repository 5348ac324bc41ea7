import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { imageConfigOf, OciConfig } from './oci-config.ts';
import { checkRegistryAllowed, readRegistrySettings, writeRegistriesConf } from './registry-settings.ts';

const ours = (config: unknown) => imageConfigOf(OciConfig.parse({ rootfs: { diff_ids: null }, config }));

test('what an image says of how it runs is taken over', () => {
  const { config, warnings } = ours({
    Env: ['PATH=/bin:/usr/bin', 'EMPTY=', 'EQUALS=a=b'],
    WorkingDir: 'srv/app',
    User: '1000:50',
    Entrypoint: ['/run'],
    Cmd: null,
    ExposedPorts: { '80/tcp': {}, 53: {} },
    Shell: ['/bin/bash', '-c'],
    Healthcheck: { Test: ['CMD', 'ok'], Interval: 3e10, Retries: 3 },
  });
  assert.deepEqual(config, {
    env: { PATH: '/bin:/usr/bin', EMPTY: '', EQUALS: 'a=b' },
    labels: {},
    cwd: '/srv/app',
    user: '1000:50',
    entrypoint: ['/run'],
    shell: ['/bin/bash', '-c'],
    exposedPorts: ['53/tcp', '80/tcp'],
    healthcheck: { test: ['CMD', 'ok'], intervalMs: 30_000, retries: 3 },
  });
  assert.deepEqual(warnings, []);
});

test('what does not fit is left out, and said', () => {
  const { config, warnings } = ours({
    Env: ['A-B=1', 'GOOD=1', 'NUL=\0'],
    Labels: { ok: 'yes', 'not ok': 'x', long: 'x'.repeat(300) },
    Volumes: { '/data': {} },
    StopSignal: 'x'.repeat(100),
  });
  assert.deepEqual(config, { env: { GOOD: '1' }, labels: { ok: 'yes' } });
  assert.match(warnings.join('\n'), /volumes.*\/data.*A-B.*NUL.*2 labels.*stopSignal/s);
});

test('an image without a config has the defaults', () => {
  assert.deepEqual(ours(null).config, { env: {}, labels: {} });
});

test('a node can be told which registries it may ask, and asks no other', (t) => {
  const at = mkdtempSync(join(tmpdir(), 'viv-registries-'));
  t.after(() => rmSync(at, { recursive: true }));
  const check = (registry: string) =>
    checkRegistryAllowed(readRegistrySettings(at), registry, `${registry}/library/x:1`);
  assert.doesNotThrow(() => check('docker.io'));
  writeFileSync(join(at, 'registries.json'), '{"only":["192.0.2.7:5000"]}');
  assert.doesNotThrow(() => check('192.0.2.7:5000'));
  assert.throws(() => check('docker.io'), { code: 'forbidden', message: /no registry docker\.io.*192\.0\.2\.7/ });
  writeFileSync(join(at, 'registries.json'), '{"only":[]}');
  assert.throws(() => check('192.0.2.7:5000'), { message: /allowed: none/ });
});

test('registries.json becomes a registries.conf; without it the host’s own holds; a broken one is named', (t) => {
  const at = mkdtempSync(join(tmpdir(), 'viv-registries-'));
  t.after(() => rmSync(at, { recursive: true }));
  assert.equal(writeRegistriesConf(readRegistrySettings(at), at), null);
  const file = join(at, 'registries.json');
  writeFileSync(file, '{"mirrors":{"docker.io":"http://127.0.0.1:5000/hub/"},"plainHttp":["reg.example:80"]}');
  const conf = readFileSync(writeRegistriesConf(readRegistrySettings(at), at)!, 'utf8');
  assert.match(
    conf,
    /prefix = "docker.io"\nlocation = "docker.io"\ninsecure = false\n\[\[registry.mirror\]\]\nlocation = "127.0.0.1:5000\/hub"\ninsecure = true/,
  );
  assert.match(conf, /prefix = "reg.example:80"\nlocation = "reg.example:80"\ninsecure = true/);
  for (const broken of ['{', '{"mirror":{}}', '{"plainHttp":["a\\"b"]}', '{"mirrors":{"a":"http://x\\ny"}}']) {
    writeFileSync(file, broken);
    assert.throws(() => readRegistrySettings(at), { code: 'precondition_failed', message: /registries.json/ });
  }
});
