import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Sandbox, Template, waitForFile } from 'e2b';
import { type Bed, type Check, fresh } from './bed.ts';

const FILES = { 'one.txt': 'a file\n', 'tree/deep/two.txt': 'another\n' };

/** Stand-ins for what would go to the internet: they tell who asked for what. */
const ASKED = `for name in apt-get pip npm bun; do
  printf '#!/bin/sh\\necho "$(whoami) %s $*" >> /opt/asked\\n' $name > /usr/local/bin/$name; chmod 755 /usr/local/bin/$name
done; touch /opt/asked; chmod 666 /opt/asked; chmod 777 /opt`;

const REPOSITORY = `git init -q -b main /tmp/repo && cd /tmp/repo && echo of a repository > README && git add . &&
git -c user.name=a -c user.email=a@example.com commit -qm one`;

/** One build with every step that a builder has, and a sandbox of it; made once for a bed. */
const samples = new WeakMap<Bed, Promise<Sandbox>>();

/** A sandbox of the sample prints that. */
export function shown(command: string, stdout: string): Check {
  return async (bed) => {
    if (!samples.has(bed)) samples.set(bed, makeSample(bed));
    const sandbox = await samples.get(bed)!;
    assert.equal((await sandbox.commands.run(command)).stdout, stdout);
  };
}

async function makeSample(bed: Bed): Promise<Sandbox> {
  const context = mkdtempSync(join(tmpdir(), 'viv-e2b-context-'));
  try {
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(context, path)), { recursive: true });
      writeFileSync(join(context, path), text);
    }
    const name = fresh('sample');
    await Template.build(steps(context), name, { ...bed.connection, cpuCount: 1, memoryMB: 512 });
    return await bed.node.create({ template: name, timeoutMs: 3_600_000 });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

function steps(fileContextPath: string) {
  return Template({ fileContextPath })
    .fromTemplate('base')
    .runCmd('echo root > /etc/from-run; touch /etc/from-template', { user: 'root' })
    .runCmd('sudo sh -c "echo $(cat /etc/from-run) $(whoami) > /etc/from-run"')
    .runCmd(ASKED, { user: 'root' })
    .copy('one.txt', '/opt/copied.txt', { mode: 0o640, user: 'user' })
    .copyItems([
      { src: 'one.txt', dest: '/opt/' },
      { src: 'tree', dest: '/opt/tree' },
    ])
    .runCmd('mkdir -p /opt/removed/deep; echo named > /opt/named')
    .remove('/opt/removed', { recursive: true, force: true })
    .rename('/opt/named', '/opt/renamed')
    .makeDir('/opt/made/dir', { mode: 0o750 })
    .makeSymlink('/opt/renamed', '/opt/link')
    .setEnvs({ OF_THE_TEMPLATE: 'a value', SECOND: '2' })
    .runCmd(REPOSITORY)
    .gitClone('/tmp/repo', '/opt/cloned')
    .aptInstall('tree', { noInstallRecommends: true })
    .pipInstall('six')
    .npmInstall('left-pad')
    .bunInstall('left-pad')
    .runCmd('mkdir -p /srv/work; chmod 777 /srv/work', { user: 'root' })
    .setWorkdir('/srv/work')
    .runCmd('pwd > from-workdir')
    .setUser('user')
    .runCmd('whoami > from-user')
    .setStartCmd('echo by the start command > /opt/started; sleep infinity', waitForFile('/opt/started'));
}
