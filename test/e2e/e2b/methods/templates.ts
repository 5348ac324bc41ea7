import assert from 'node:assert/strict';
import { BuildError, Template } from 'e2b';
import { type Bed, type Check, type Checks, fresh } from './bed.ts';
import { shown } from './template-sample.ts';

const SIZE = { cpuCount: 1, memoryMB: 512 };

/** `Template`: building, tags, and the steps of a builder as a sandbox of the template shows them. */
export const TEMPLATE_CHECKS: Checks = {
  'Template.build': async (bed) => {
    const name = fresh('built');
    const lines: string[] = [];
    const template = Template().fromTemplate('base').runCmd('echo said by the build');
    const onBuildLogs = ({ message }: { message: string }) => void lines.push(message);
    const info = await Template.build(template, name, { ...bed.connection, ...SIZE, tags: ['v1'], onBuildLogs });
    assert.deepEqual([info.name, info.tags, info.templateId.length > 0], [name, ['v1'], true]);
    assert.ok(
      lines.some((line) => line.includes('said by the build')),
      lines.join('\n'),
    );
    const wrong = Template().fromTemplate('base').runCmd('echo wrong >&2; exit 3');
    await assert.rejects(Template.build(wrong, fresh('wrong'), { ...bed.connection, ...SIZE }), BuildError);
  },
  'Template.buildInBackground': async (bed) => {
    const template = Template().fromTemplate('base').skipCache().runCmd('sleep 1');
    const info = await Template.buildInBackground(template, fresh('background'), { ...bed.connection, ...SIZE });
    assert.ok(['waiting', 'building'].includes((await Template.getBuildStatus(info, bed.connection)).status));
    await ended(bed, info);
  },
  'Template.getBuildStatus': async (bed) => {
    const template = Template().fromTemplate('base').runCmd('echo in the log');
    const info = await Template.buildInBackground(template, fresh('status'), { ...bed.connection, ...SIZE });
    const { status, logEntries, buildID } = await ended(bed, info);
    assert.deepEqual([status, buildID], ['ready', info.buildId]);
    assert.ok(logEntries.some(({ message }) => message.includes('in the log')));
  },
  'Template.exists': async ({ connection }) => {
    assert.equal(await Template.exists('base', connection), true);
    assert.equal(await Template.exists(fresh('none'), connection), false);
  },
  'Template.aliasExists': async ({ connection }) => {
    assert.equal(await Template.aliasExists('base', connection), true);
    assert.equal(await Template.aliasExists(fresh('none'), connection), false);
  },
  'Template.assignTags': async (bed) => {
    const { name, buildId } = await small(bed);
    const info = await Template.assignTags(`${name}:v1`, ['production', 'stable'], bed.connection);
    assert.deepEqual([info.buildId, [...info.tags].sort()], [buildId, ['production', 'stable']]);
    const sandbox = await bed.node.create({ template: `${name}:stable` });
    await sandbox.kill();
  },
  'Template.removeTags': async (bed) => {
    const { name, templateId } = await small(bed);
    await Template.assignTags(`${name}:v1`, 'old', bed.connection);
    await Template.removeTags(name, 'old', bed.connection);
    assert.ok((await Template.getTags(templateId, bed.connection)).every(({ tag }) => tag !== 'old'));
  },
  'Template.getTags': async (bed) => {
    const { templateId, buildId } = await small(bed);
    const tags = await Template.getTags(templateId, bed.connection);
    assert.deepEqual(
      tags.filter(({ tag }) => tag === 'v1').map((tag) => tag.buildId),
      [buildId],
    );
    assert.ok(tags.every(({ createdAt }) => Math.abs(createdAt.getTime() - Date.now()) < 60_000));
  },
  'Template.toJSON': async () => {
    const { fromImage, steps } = JSON.parse(await Template.toJSON(Template().fromImage('debian:12').runCmd('ls')));
    assert.deepEqual([fromImage, steps[0].type, steps[0].args], ['debian:12', 'RUN', ['ls']]);
  },
  'Template.toDockerfile': async () =>
    assert.equal(Template.toDockerfile(Template().fromImage('debian:12').runCmd('ls')), 'FROM debian:12\nRUN ls\n'),
  'template.fromTemplate': shown('cat /etc/from-template', ''),
  'template.runCmd': shown('cat /etc/from-run', 'root user\n'),
  'template.copy': shown('cat /opt/copied.txt; stat -c %a /opt/copied.txt', 'a file\n640\n'),
  'template.copyItems': shown('cat /opt/one.txt /opt/tree/deep/two.txt', 'a file\nanother\n'),
  'template.remove': shown(
    'ls /opt/removed 2>&1 || true',
    "ls: cannot access '/opt/removed': No such file or directory\n",
  ),
  'template.rename': shown('cat /opt/renamed; ls /opt/named 2>/dev/null || echo gone', 'named\ngone\n'),
  'template.makeDir': shown('stat -c %a:%U /opt/made/dir', '750:user\n'),
  'template.makeSymlink': shown('readlink /opt/link', '/opt/renamed\n'),
  'template.setEnvs': shown('echo $OF_THE_TEMPLATE $SECOND', 'a value 2\n'),
  'template.setWorkdir': shown('pwd; cat from-workdir', '/srv/work\n/srv/work\n'),
  'template.setUser': shown('whoami; cat /srv/work/from-user', 'user\nuser\n'),
  'template.gitClone': shown('cat /opt/cloned/README', 'of a repository\n'),
  'template.aptInstall': shown(
    'grep apt-get /opt/asked',
    'root apt-get update\nroot apt-get install -y --no-install-recommends tree\n',
  ),
  'template.pipInstall': shown('grep pip /opt/asked', 'root pip install six\n'),
  'template.npmInstall': shown('grep npm /opt/asked', 'user npm install left-pad\n'),
  'template.bunInstall': shown('grep bun /opt/asked', 'user bun install left-pad\n'),
  'template.setStartCmd': shown('cat /opt/started', 'by the start command\n'),
  'template.setReadyCmd': async (bed) => {
    const name = fresh('ready');
    const template = Template().fromTemplate('base').setReadyCmd('test -e /etc/passwd');
    await Template.build(template, name, { ...bed.connection, ...SIZE });
    await (await bed.node.create({ template: name })).kill();
    const never = Template().fromTemplate('base').setStartCmd('exit 9', 'false');
    await assert.rejects(Template.build(never, fresh('never'), { ...bed.connection, ...SIZE }), BuildError);
  },
  'template.skipCache': async (bed) => {
    const stamp = async (skip: boolean) => {
      const from = Template().fromTemplate('base');
      const name = fresh('cached');
      const template = (skip ? from.skipCache() : from).runCmd('date +%s%N > /tmp/stamp');
      await Template.build(template, name, { ...bed.connection, ...SIZE });
      const sandbox = await bed.node.create({ template: name });
      const text = await sandbox.files.read('/tmp/stamp');
      await sandbox.kill();
      return text;
    };
    const first = await stamp(false);
    assert.equal(await stamp(false), first);
    assert.notEqual(await stamp(true), first);
  },
  'template.fromDockerfile': async (bed) => {
    const name = fresh('dockerfile');
    const dockerfile = 'FROM e2bdev/base\nENV COLOUR=blue\nWORKDIR /srv\nRUN echo "$COLOUR" > /srv/colour\n';
    await Template.build(Template().fromDockerfile(dockerfile), name, { ...bed.connection, ...SIZE });
    const sandbox = await bed.node.create({ template: name });
    assert.equal((await sandbox.commands.run('cat /srv/colour; echo $COLOUR')).stdout, 'blue\nblue\n');
    await sandbox.kill();
  },
  'template.fromBaseImage': async (bed) => {
    const name = fresh('from-base');
    await Template.build(Template().fromBaseImage(), name, { ...bed.connection, ...SIZE });
    const sandbox = await bed.node.create({ template: name });
    assert.equal((await sandbox.commands.run('whoami')).stdout, 'user\n');
    await sandbox.kill();
  },
  'template.fromImage': named(() => Template().fromImage('base/debian@12'), 'base/debian@12'),
  'template.fromDebianImage': named(() => Template().fromDebianImage('bookworm'), 'debian:bookworm'),
  'template.fromUbuntuImage': named(() => Template().fromUbuntuImage('24.04'), 'ubuntu:24.04'),
  'template.fromFedoraImage': named(() => Template().fromFedoraImage('41'), 'fedora:41'),
  'template.fromAlpineImage': named(() => Template().fromAlpineImage('3.20'), 'alpine:3.20'),
  'template.fromArchImage': named(() => Template().fromArchImage(), 'archlinux:latest'),
  'template.fromPythonImage': named(() => Template().fromPythonImage('3.12'), 'python:3.12'),
  'template.fromNodeImage': named(() => Template().fromNodeImage('22'), 'node:22'),
  'template.fromBunImage': named(() => Template().fromBunImage('1'), 'oven/bun:1'),
  'template.fromAWSRegistry': named(
    () =>
      Template().fromAWSRegistry('1.dkr.ecr.eu.amazonaws.com/a:1', {
        accessKeyId: 'a',
        secretAccessKey: 'b',
        region: 'eu',
      }),
    '1.dkr.ecr.eu.amazonaws.com/a:1',
  ),
  'template.fromGCPRegistry': named(
    () => Template().fromGCPRegistry('gcr.io/a/b:1', { serviceAccountJSON: { project_id: 'a' } }),
    'gcr.io/a/b:1',
  ),
  'template.addMcpServer': onlyFrom('mcp-gateway', (from) => Template().fromTemplate(from).addMcpServer('exa')),
  'template.betaDevContainerPrebuild': onlyFrom('devcontainer', (from) =>
    Template().fromTemplate(from).betaDevContainerPrebuild('/work'),
  ),
  'template.betaSetDevContainerStart': onlyFrom('devcontainer', (from) =>
    Template().fromTemplate(from).betaSetDevContainerStart('/work'),
  ),
};

type Builder = ReturnType<ReturnType<typeof Template>['fromImage']>;

/** The client sends that image's name; what a node does with names is in templates.test.ts. */
function named(make: () => Builder, image: string): Check {
  return async () => assert.equal(JSON.parse(await Template.toJSON(make())).fromImage, image);
}

/** These methods only write steps for a template that a node may have or not; with any other the client refuses. */
function onlyFrom(template: string, make: (from: string) => unknown): Check {
  return async () => {
    make(template);
    assert.throws(() => make('base'), BuildError);
  };
}

async function small(bed: Bed): Promise<{ name: string; templateId: string; buildId: string }> {
  const name = fresh('tagged');
  const info = await Template.build(Template().fromTemplate('base'), `${name}:v1`, { ...bed.connection, ...SIZE });
  return { name, templateId: info.templateId, buildId: info.buildId };
}

type Status = Awaited<ReturnType<typeof Template.getBuildStatus>>;

async function ended({ connection }: Bed, info: { templateId: string; buildId: string }): Promise<Status> {
  for (let tries = 0; tries < 600; tries += 1) {
    const status = await Template.getBuildStatus(info, connection);
    if (status.status === 'ready' || status.status === 'error') return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the build did not end');
}
