import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  BuildError,
  type LogEntry,
  Sandbox,
  Template,
  type TemplateBuilder,
  waitForFile,
  waitForPort,
  waitForProcess,
  waitForTimeout,
  waitForURL,
} from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let e2b: E2bNode;
let files: string;
let count = 0;

before(async () => {
  e2b = await startE2bNode();
  files = mkdtempSync(join(tmpdir(), 'viv-templates-'));
  mkdirSync(join(files, 'folder/sub'), { recursive: true });
  mkdirSync(join(files, 'plain'));
  writeFileSync(join(files, 'plain/f.txt'), 'plain');
  writeFileSync(join(files, 'folder/test.txt'), 'This is a test file.');
  writeFileSync(join(files, 'folder/sub/deep.txt'), 'deep');
  writeFileSync(join(files, 'folder/left-out.log'), 'log');
  writeFileSync(join(files, 'it\'s "a" $HOME file.txt'), 'odd');
  symlinkSync('test.txt', join(files, 'folder/symlink.txt'));
  symlinkSync('nowhere', join(files, 'folder/dangling.txt'));
});

after(async () => {
  rmSync(files, { recursive: true, force: true });
  await e2b.close();
});

const fresh = () => Template({ fileContextPath: files, fileIgnorePatterns: ['**/*.log'] });

type Built = { name: string; templateId: string; buildId: string; tags: string[]; log: string[] };

async function build(
  template: TemplateBuilder | unknown,
  options: { name?: string; skipCache?: boolean; tags?: string[] } = {},
): Promise<Built> {
  const { name = `test-${++count}`, ...rest } = options;
  const log: string[] = [];
  const onBuildLogs = ({ message }: LogEntry) => void log.push(message);
  const info = await Template.build(template as never, name, { ...e2b.connection, ...rest, onBuildLogs });
  return { ...info, name, log };
}

/** What a command says in a sandbox of the template. */
async function said(template: string, command: string): Promise<string> {
  const sandbox = await Sandbox.create(template, e2b.connection);
  try {
    return (await sandbox.commands.run(command)).stdout;
  } finally {
    await sandbox.kill();
  }
}

/** The step that the client says is to blame, and the words. */
async function failing(
  template: TemplateBuilder | unknown,
): Promise<{ message: string; step: string | undefined; log: string[] }> {
  const name = `test-${++count}`;
  const log: string[] = [];
  const onBuildLogs = ({ message }: LogEntry) => void log.push(message);
  await assert.rejects(
    Template.build(template as never, name, { ...e2b.connection, onBuildLogs }),
    (error) => error instanceof BuildError && error.message !== '',
  );
  const ids = /ID: (\S+), Build ID: (\S+)/.exec(log.join('\n'))!;
  const status = await Template.getBuildStatus({ templateId: ids[1]!, buildId: ids[2]! } as never, e2b.connection);
  assert.equal(status.status, 'error');
  return { message: status.reason!.message, step: status.reason!.step, log };
}

test('every kind of step does its part, and sandboxes begin where the last one left off', async () => {
  const template = fresh()
    .fromBaseImage()
    .copy('folder/*', 'folder')
    .copy('folder/test.txt', '/opt/one.txt', { user: 'root', mode: 0o640 })
    .copyItems([{ src: 'folder/test.txt', dest: '/opt/in/' }])
    .setEnvs({ ONE: 'a "b" \'c\'\nd', TWO: 'x' })
    .setEnvs({ THREE: '$TWO-$TWO-\\$(id)' })
    .runCmd(['echo "$ONE" > out.txt', 'pwd >> out.txt', 'whoami >> out.txt'])
    .runCmd('whoami > /who.txt', { user: 'root' })
    .makeDir(['data', 'more/nested'], { mode: 0o700 })
    .makeSymlink('out.txt', 'link.txt')
    .rename('more', 'moved')
    .remove('folder/sub', { recursive: true })
    .setWorkdir('/app/deep');
  const { name, templateId, log, tags } = await build(template);
  assert.deepEqual(tags, ['default']);
  assert.ok(
    log.some((line) => /^\[builder 6\/12\] RUN echo/.test(line)),
    log.join('\n'),
  );
  const sandbox = await Sandbox.create(name, e2b.connection);
  const run = async (command: string) => (await sandbox.commands.run(command)).stdout;
  assert.equal(await run('pwd; whoami; stat -c %U /app/deep'), '/app/deep\nuser\nuser\n');
  assert.equal(await run('cat ~/out.txt'), 'a "b" \'c\'\nd\n/home/user\nuser\n');
  assert.equal(await run('cat /who.txt'), 'root\n');
  assert.equal(await run('printenv ONE THREE'), 'a "b" \'c\'\nd\nx-x-\\$(id)\n');
  assert.equal(
    await run('ls ~/folder; readlink ~/folder/symlink.txt ~/folder/dangling.txt'),
    'dangling.txt\nsymlink.txt\ntest.txt\ntest.txt\nnowhere\n',
  );
  assert.equal(
    await run('stat -c "%U %a" /opt/one.txt /opt/in/test.txt ~/folder/test.txt ~/data ~/moved/nested'),
    'root 640\nuser 644\nuser 644\nuser 700\nuser 700\n',
  );
  assert.equal(await run('readlink ~/link.txt'), 'out.txt\n');
  assert.equal((await sandbox.getInfo()).templateId, templateId);
  await sandbox.kill();
});

test('a build from the cache has the same result, and a forced one is made anew', async () => {
  const template = () => fresh().fromBaseImage().runCmd('date +%N > when.txt');
  const first = await said((await build(template())).name, 'cat ~/when.txt');
  assert.equal(await said((await build(template())).name, 'cat ~/when.txt'), first);
  assert.notEqual(await said((await build(template(), { skipCache: true })).name, 'cat ~/when.txt'), first);
  const forced = fresh().fromBaseImage().runCmd('echo a').skipCache().runCmd('date +%N > when.txt');
  const one = await said((await build(forced)).name, 'cat ~/when.txt');
  assert.notEqual(await said((await build(forced)).name, 'cat ~/when.txt'), one);
});

test('files of any name are copied, and links resolved where that is asked for', async () => {
  const odd = 'it\'s "a" $HOME file.txt';
  const template = fresh()
    .fromBaseImage()
    .copy(odd, '/opt/a $HOME "b"/')
    .copy('folder/symlink.txt', 'kept.txt')
    .copy('folder/symlink.txt', 'resolved.txt', { resolveSymlinks: true, forceUpload: true, gzip: false });
  const { name } = await build(template);
  assert.equal(
    await said(name, 'cat \'/opt/a $HOME "b"/\'*; stat -c %F ~/kept.txt ~/resolved.txt; cat ~/resolved.txt'),
    'oddsymbolic link\nregular file\nThis is a test file.',
  );
});

test('a failing step is named, with its output in the log and the words E2B has', async () => {
  const run = await failing(fresh().fromBaseImage().runCmd('true').runCmd('echo before; echo worse >&2; exit 3'));
  assert.equal(run.message, "failed to run command 'echo before; echo worse >&2; exit 3': exit status 3");
  assert.equal(run.step, '2');
  assert.ok(run.log.includes('[builder 2/2] [stderr]: worse'), run.log.join('\n'));
  assert.ok(run.log.at(-2)!.startsWith('Build failed: failed to run command'), run.log.join('\n'));
  const nobody = await failing(fresh().fromBaseImage().runCmd('whoami', { user: 'root123' }));
  assert.equal(
    nobody.message,
    "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'root123'",
  );
  assert.equal((await failing(fresh().fromBaseImage().setUser('; exit 1'))).step, '1');
  assert.equal((await failing(fresh().fromBaseImage().setWorkdir('/etc/passwd'))).step, '1');
  assert.equal((await failing(fresh().fromBaseImage().setWorkdir('/root/.bashrc').runCmd('true'))).step, '1');
  assert.equal((await failing(fresh().fromBaseImage().makeDir('.bashrc'))).step, '1');
  const start = await failing(fresh().fromBaseImage().setStartCmd('./nonexistent/path', waitForTimeout(10_000)));
  assert.equal(start.step, 'finalize');
  assert.match(start.message, /^start command failed: exit status 127$/);
});

test('what a build starts from and is not there is an error of the base step, told in a sentence', async () => {
  const image = await failing(
    Template().fromImage('registry.invalid/nothing:latest', { username: 'a', password: 'b' }),
  );
  assert.equal(image.step, 'base');
  assert.match(image.message, /there is no image registry\.invalid\/nothing:latest/);
  const template = await failing(Template().fromTemplate('no-such-template'));
  assert.deepEqual([template.step, template.message], ['base', "template 'no-such-template' not found"]);
});

test('a user that is missing is made, and the last one is who sandboxes act as', async () => {
  const { name } = await build(
    fresh().fromBaseImage().setUser('worker').setWorkdir('/home/worker/app').runCmd('whoami > me.txt'),
  );
  const sandbox = await Sandbox.create(name, e2b.connection);
  assert.equal((await sandbox.commands.run('whoami; pwd; cat me.txt')).stdout, 'worker\n/home/worker/app\nworker\n');
  assert.equal((await sandbox.commands.run('whoami', { user: 'root' })).stdout, 'root\n');
  await sandbox.files.write('here.txt', 'x');
  assert.equal((await sandbox.commands.run('stat -c %U ~/here.txt')).stdout, 'worker\n');
  await sandbox.kill();
});

test('a template of a template has its files, variables and start command', async () => {
  const parent = await build(
    fresh()
      .fromBaseImage()
      .setEnvs({ FROM_PARENT: 'yes' })
      .setWorkdir('/app')
      .runCmd('echo parent > p.txt')
      .setStartCmd('python3 -m http.server 8123', waitForPort(8123)),
  );
  const child = await build(fresh().fromTemplate(parent.name).runCmd('echo child > c.txt'));
  const sandbox = await Sandbox.create(child.name, e2b.connection);
  assert.equal(
    (await sandbox.commands.run('pwd; cat p.txt c.txt; echo $FROM_PARENT')).stdout,
    '/app\nparent\nchild\nyes\n',
  );
  assert.equal((await sandbox.commands.run('curl -s localhost:8123/c.txt')).stdout, 'child\n');
  await sandbox.kill();
  const builtin = await build(Template().fromTemplate('base'));
  assert.equal(await said(builtin.name, 'pwd; whoami'), '/home/user\nuser\n');
});

test('every way of waiting for a start command', async () => {
  for (const [start, ready, check] of [
    ['sleep 0.3; python3 -m http.server 8001', waitForPort(8001), 'curl -sf localhost:8001 >/dev/null && echo ok'],
    [
      'python3 -m http.server 8002',
      waitForURL('http://localhost:8002/'),
      'curl -sf localhost:8002 >/dev/null && echo ok',
    ],
    ['sleep 0.3; exec sleep 1000', waitForProcess('sleep'), 'pgrep sleep >/dev/null && echo ok'],
    ['sleep 0.3; touch /tmp/ready; exec sleep 1000', waitForFile('/tmp/ready'), 'test -f /tmp/ready && echo ok'],
    ['echo done > /tmp/once', waitForTimeout(1000), 'test -f /tmp/once && echo ok'],
    ['python3 -m http.server 8003', '', 'curl -sf localhost:8003 >/dev/null && echo ok'],
  ] as const) {
    const { name, log } = await build(
      fresh()
        .fromBaseImage()
        .setStartCmd(start, ready as never),
    );
    assert.ok(log.includes('Template is ready'), `${start}: ${log.join('\n')}`);
    assert.equal(await said(name, check), 'ok\n', start);
  }
  const { name } = await build(fresh().fromBaseImage().setReadyCmd('test -d /home/user'));
  assert.equal(await said(name, 'echo ok'), 'ok\n');
});

test('cpuCount and memoryMB of a template are what its sandboxes have', async () => {
  const name = `test-${++count}`;
  await Template.build(Template().fromBaseImage(), name, { ...e2b.connection, cpuCount: 1, memoryMB: 512 });
  const sandbox = await Sandbox.create(name, e2b.connection);
  const { cpuCount, memoryMB } = await sandbox.getInfo();
  assert.deepEqual([cpuCount, memoryMB], [1, 512]);
  await sandbox.kill();
});

test('names, tags and rebuilds: a tag stays with its build until it is moved', async () => {
  const template = (text: string) => Template().fromBaseImage().runCmd(`echo ${text} > v.txt`);
  const first = await build(template('one'), { name: 'tagged:v1', tags: ['old'] });
  assert.deepEqual(first.tags.sort(), ['old', 'v1']);
  const second = await build(template('two'), { name: 'tagged:v2' });
  assert.equal(second.templateId, first.templateId);
  await assert.rejects(
    Sandbox.create('tagged', e2b.connection),
    /404: template 'tagged' has no tag default; it has old, v1, v2/,
  );
  const assigned = await Template.assignTags('tagged:v2', ['production', 'tagged:default'], e2b.connection);
  assert.deepEqual(assigned, { buildId: second.buildId, tags: ['production', 'default'] });
  assert.equal(await said('tagged', 'cat ~/v.txt'), 'two\n');
  assert.equal(await said('tagged:v1', 'cat ~/v.txt'), 'one\n');
  assert.equal(await said(`${first.templateId}:old`, 'cat ~/v.txt'), 'one\n');
  await Template.assignTags('tagged:v1', 'production', e2b.connection);
  assert.equal(await said('tagged:production', 'cat ~/v.txt'), 'one\n');
  const tags = await Template.getTags(first.templateId, e2b.connection);
  assert.deepEqual(
    tags.map(({ tag, buildId }) => [tag, buildId === first.buildId ? 1 : 2]),
    [
      ['default', 2],
      ['old', 1],
      ['production', 1],
      ['v1', 1],
      ['v2', 2],
    ],
  );
  assert.ok(tags.every(({ createdAt }) => !Number.isNaN(createdAt.getTime())));
  await Template.removeTags('tagged', ['production', 'old'], e2b.connection);
  await assert.rejects(Sandbox.create('tagged:production', e2b.connection), /404: .*no tag production/);
  for (const wrong of [':v9', 'tagged:', 'other:v1', 'a b', ''])
    await assert.rejects(Template.assignTags('tagged:v1', wrong, e2b.connection), wrong);
  await assert.rejects(Template.assignTags('tagged:nope', 'x', e2b.connection));
  await assert.rejects(Template.removeTags('nonexistent', ['tag'], e2b.connection));
  await assert.rejects(Template.getTags('nonexistent', e2b.connection));
});

test('a name exists when a template or a builtin one has it', async () => {
  await build(Template().fromBaseImage(), { name: 'here' });
  assert.equal(await Template.exists('here', e2b.connection), true);
  assert.equal(await Template.aliasExists('here', e2b.connection), true);
  assert.equal(await Template.exists('base', e2b.connection), true);
  assert.equal(await Template.exists('nonexistent-name', e2b.connection), false);
  await assert.rejects(build(Template().fromBaseImage(), { name: 'base' }), /comes with the node/);
  await assert.rejects(build(Template().fromBaseImage(), { name: 'no such name' }), /no name of a template/);
});

test('a build in the background is building, then ready, and its log comes in pieces', async () => {
  const template = Template()
    .fromBaseImage()
    .skipCache()
    .runCmd('for i in $(seq 250); do echo line $i; done; sleep 0.5');
  const info = await Template.buildInBackground(template, 'background', e2b.connection);
  assert.equal((await Template.getBuildStatus(info, e2b.connection)).status, 'building');
  let status = await Template.getBuildStatus(info, e2b.connection);
  while (status.status === 'building') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    status = await Template.getBuildStatus(info, e2b.connection);
  }
  assert.equal(status.status, 'ready');
  const entries: string[] = [];
  for (;;) {
    const { logEntries } = await Template.getBuildStatus(info, { ...e2b.connection, logsOffset: entries.length });
    if (logEntries.length === 0) break;
    assert.ok(logEntries.length <= 100);
    entries.push(...logEntries.map(({ message }) => message));
  }
  const lines = entries.filter((line) => line.startsWith('[builder 1/1] [stdout]'));
  assert.deepEqual(
    lines,
    Array.from({ length: 250 }, (_, i) => `[builder 1/1] [stdout]: line ${i + 1}`),
  );
});

test('a deleted template is gone, what runs from it runs on', async () => {
  const { name, templateId } = await build(fresh().fromBaseImage().runCmd('echo mine > m.txt'), { name: 'deleted' });
  const sandbox = await Sandbox.create(name, e2b.connection);
  assert.equal((await e2b.call('DELETE', `/templates/${templateId}`)).status, 204);
  assert.equal(await Template.exists(name, e2b.connection), false);
  await assert.rejects(Sandbox.create(name, e2b.connection), /404: template 'deleted' not found/);
  assert.equal((await sandbox.commands.run('cat m.txt')).stdout, 'mine\n');
  await sandbox.kill();
  assert.equal((await e2b.call('DELETE', `/templates/${templateId}`)).status, 404);
  assert.equal((await e2b.call('DELETE', '/templates/base')).status, 404);
});

test('the lists show a template with its builds, in pages', async () => {
  const { templateId, buildId } = await build(Template().fromBaseImage(), { name: 'listed' });
  const { body: all } = await e2b.call('GET', '/templates');
  const one = all.find((item: { templateID: string }) => item.templateID === templateId);
  assert.deepEqual(
    [one.names, one.buildID, one.buildStatus, one.public, one.buildCount],
    [['listed'], buildId, 'ready', false, 1],
  );
  const seen: string[] = [];
  let token: string | null = '';
  do {
    const page = await e2b.call('GET', `/v2/templates?limit=2${token && `&nextToken=${token}`}`);
    seen.push(...page.body.map((item: { templateID: string }) => item.templateID));
    token = page.headers.get('x-next-token');
  } while (token !== null);
  assert.deepEqual(
    seen,
    all.map((item: { templateID: string }) => item.templateID),
  );
  const { body: shown } = await e2b.call('GET', '/templates/listed');
  assert.deepEqual([shown.templateID, shown.builds.length, shown.builds[0].buildID], [templateId, 1, buildId]);
  assert.equal((await e2b.call('PATCH', `/v2/templates/${templateId}`, { public: true })).body.names[0], 'listed');
});

test('another key neither sees nor uses nor changes a template, unless it is public', async () => {
  const { templateId, buildId } = await build(fresh().fromBaseImage(), { name: 'private' });
  const { secret } = await e2b.node.viv.keys.create({ name: 'other', scopes: ['sandboxes'] });
  const other = { ...e2b.connection, apiKey: secret!.replace('viv_', 'e2b_') };
  const call = (method: string, path: string, body?: unknown) =>
    e2b.call(method, path, body, { 'x-api-key': other.apiKey });
  assert.equal(await Template.exists('private', other), false);
  for (const text of ['private', templateId, `e2b/${templateId}@${buildId}`])
    await assert.rejects(Sandbox.create(text, other), /404: template/, text);
  assert.equal((await call('GET', `/templates/${templateId}/builds/${buildId}/status`)).status, 404);
  assert.equal((await call('DELETE', `/templates/${templateId}`)).status, 404);
  await assert.rejects(Template.build(Template().fromTemplate('private'), 'theirs', other), /not found/);
  // The same name is another template of theirs.
  const own = await Template.build(Template().fromBaseImage(), 'private', other);
  assert.notEqual(own.templateId, templateId);
  await e2b.call('PATCH', `/templates/${templateId}`, { public: true });
  const sandbox = await Sandbox.create(templateId, other);
  await sandbox.kill();
  assert.equal((await call('DELETE', `/templates/${templateId}`)).status, 403);
});

test('an upload goes through its link once asked for, and nowhere else', async () => {
  const { templateId } = await build(fresh().fromBaseImage(), { name: 'uploads' });
  const hash = 'a'.repeat(64);
  const link = await e2b.call('GET', `/templates/${templateId}/files/${hash}`);
  assert.deepEqual([link.status, link.body.present], [201, false]);
  assert.equal((await fetch(link.body.url, { method: 'PUT', body: 'not a tar' })).status, 201);
  assert.equal((await e2b.call('GET', `/templates/${templateId}/files/${hash}`)).body.present, true);
  const wrong = link.body.url.replace(/[^/]+$/, 'x'.repeat(32));
  assert.equal((await fetch(wrong, { method: 'PUT', body: 'x' })).status, 404);
  assert.equal((await e2b.call('GET', `/templates/${templateId}/files/..%2f..%2fetc`)).status, 400);
  const { body } = await e2b.call('POST', '/v3/templates', { name: 'uploads' });
  const path = `/templates/${templateId}/builds/${body.buildID}`;
  const steps = [{ type: 'COPY', args: ['a', '/a'], filesHash: hash }];
  assert.equal((await e2b.call('POST', `/v2${path}`, { fromImage: 'e2bdev/base', steps })).status, 202);
  assert.equal((await e2b.call('POST', `/v2${path}`, { fromImage: 'e2bdev/base', steps })).status, 409);
  for (;;) {
    const { body: status } = await e2b.call('GET', `${path}/status`);
    if (status.status === 'building') continue;
    assert.equal(status.status, 'error', JSON.stringify(status));
    break;
  }
});

test('a build that runs when the server is stopped or dies is an error, and the next one works', async () => {
  const template = Template().fromBaseImage().skipCache().runCmd('sleep 100');
  const info = await Template.buildInBackground(template, 'interrupted', e2b.connection);
  await e2b.node.kill9();
  await e2b.node.start();
  const status = await Template.getBuildStatus(info, e2b.connection);
  assert.equal(status.status, 'error');
  assert.match(status.reason!.message, /server was stopped/);
  const again = await Template.buildInBackground(template, 'interrupted', e2b.connection);
  await e2b.node.stop();
  await e2b.node.start();
  assert.equal((await Template.getBuildStatus(again, e2b.connection)).status, 'error');
  const { name } = await build(Template().fromBaseImage().runCmd('echo fine > f.txt'), { name: 'interrupted' });
  assert.equal(await said(name, 'cat ~/f.txt'), 'fine\n');
});

test('a Dockerfile becomes a template, and a template a Dockerfile', async () => {
  const dockerfile = `FROM e2bdev/base
ENV GREETING hello
COPY plain /srv/plain
RUN echo "$GREETING" > /greeting.txt
WORKDIR /srv
CMD ["python3", "-m", "http.server", "8010"]`;
  const template = fresh().fromDockerfile(dockerfile);
  assert.match(Template.toDockerfile(template as never), /^FROM e2bdev\/base\n/);
  assert.equal(JSON.parse(await Template.toJSON(template as never)).fromImage, 'e2bdev/base');
  const { name } = await build(template);
  const sandbox = await Sandbox.create(name, e2b.connection);
  const run = async (command: string) => (await sandbox.commands.run(command)).stdout;
  assert.equal(
    await run('pwd; whoami; cat /greeting.txt; stat -c "%U %n" /srv/plain/f.txt'),
    '/srv\nuser\nhello\nroot /srv/plain/f.txt\n',
  );
  assert.equal(await run('curl -s localhost:8010/plain/f.txt'), 'plain');
  await sandbox.kill();
});
