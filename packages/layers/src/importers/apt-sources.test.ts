import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostSources } from './apt-sources.ts';

const DEB822 = `Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

# security
Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main

Types: deb
URIs: https://vendor.example/apt
Suites: bookworm
Components: main
Signed-By: /etc/apt/keyrings/vendor.gpg
`;
const ONE_LINE = `# old form
deb [arch=amd64] http://first.example/debian bookworm main # comment
deb http://second.example/debian bookworm main
deb-src http://first.example/debian bookworm main
deb [signed-by=/etc/apt/keyrings/x.gpg] http://third.example bookworm-updates main
deb cdrom:[Debian] bookworm-security main
`;

test("the host's own mirrors are used for its suite, others' packages are not", (t) => {
  const apt = mkdtempSync(join(tmpdir(), 'viv-apt-'));
  t.after(() => rmSync(apt, { recursive: true }));
  const key = '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]';
  assert.deepEqual(hostSources('bookworm', apt), []);
  mkdirSync(join(apt, 'sources.list.d'));
  writeFileSync(join(apt, 'sources.list.d/debian.sources'), DEB822);
  assert.deepEqual(hostSources('bookworm', apt), [
    `deb ${key} http://mirror.example/debian bookworm main`,
    `deb ${key} http://mirror.example/debian bookworm-updates main`,
    `deb ${key} http://mirror.example/security bookworm-security main`,
  ]);
  assert.deepEqual(hostSources('trixie', apt), []);
  writeFileSync(join(apt, 'sources.list'), ONE_LINE);
  rmSync(join(apt, 'sources.list.d'), { recursive: true });
  assert.deepEqual(hostSources('bookworm', apt), [`deb ${key} http://first.example/debian bookworm main`]);
});
