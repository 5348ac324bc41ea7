import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Sandbox, Template, waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForURL } from 'e2b';
import { TemplateBed } from '../../harness/e2b-templates.ts';

let bed: TemplateBed;
let files: string;

before(async () => {
  bed = await TemplateBed.open();
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
  await bed.close();
});

const fresh = () => Template({ fileContextPath: files, fileIgnorePatterns: ['**/*.log'] });

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
  const { name, templateId, log, tags } = await bed.build(template);
  assert.deepEqual(tags, ['default']);
  assert.ok(
    log.some((line) => /^\[builder 6\/12\] RUN echo/.test(line)),
    log.join('\n'),
  );
  const sandbox = await Sandbox.create(name, bed.e2b.connection);
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
  const first = await bed.said((await bed.build(template())).name, 'cat ~/when.txt');
  assert.equal(await bed.said((await bed.build(template())).name, 'cat ~/when.txt'), first);
  assert.notEqual(await bed.said((await bed.build(template(), { skipCache: true })).name, 'cat ~/when.txt'), first);
  const forced = fresh().fromBaseImage().runCmd('echo a').skipCache().runCmd('date +%N > when.txt');
  const one = await bed.said((await bed.build(forced)).name, 'cat ~/when.txt');
  assert.notEqual(await bed.said((await bed.build(forced)).name, 'cat ~/when.txt'), one);
});

test('files of any name are copied, and links resolved where that is asked for', async () => {
  const odd = 'it\'s "a" $HOME file.txt';
  const template = fresh()
    .fromBaseImage()
    .copy(odd, '/opt/a $HOME "b"/')
    .copy('folder/symlink.txt', 'kept.txt')
    .copy('folder/symlink.txt', 'resolved.txt', { resolveSymlinks: true, forceUpload: true, gzip: false });
  const { name } = await bed.build(template);
  assert.equal(
    await bed.said(name, 'cat \'/opt/a $HOME "b"/\'*; stat -c %F ~/kept.txt ~/resolved.txt; cat ~/resolved.txt'),
    'oddsymbolic link\nregular file\nThis is a test file.',
  );
});

test('a failing step is named, with its output in the log and the words E2B has', async () => {
  const run = await bed.failing(fresh().fromBaseImage().runCmd('true').runCmd('echo before; echo worse >&2; exit 3'));
  assert.equal(run.message, "failed to run command 'echo before; echo worse >&2; exit 3': exit status 3");
  assert.equal(run.step, '2');
  assert.ok(run.log.includes('[builder 2/2] [stderr]: worse'), run.log.join('\n'));
  assert.ok(run.log.at(-2)!.startsWith('Build failed: failed to run command'), run.log.join('\n'));
  const nobody = await bed.failing(fresh().fromBaseImage().runCmd('whoami', { user: 'root123' }));
  assert.equal(
    nobody.message,
    "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'root123'",
  );
  assert.equal((await bed.failing(fresh().fromBaseImage().setUser('; exit 1'))).step, '1');
  assert.equal((await bed.failing(fresh().fromBaseImage().setWorkdir('/etc/passwd'))).step, '1');
  assert.equal((await bed.failing(fresh().fromBaseImage().setWorkdir('/root/.bashrc').runCmd('true'))).step, '1');
  assert.equal((await bed.failing(fresh().fromBaseImage().makeDir('.bashrc'))).step, '1');
  const start = await bed.failing(fresh().fromBaseImage().setStartCmd('./nonexistent/path', waitForTimeout(10_000)));
  assert.equal(start.step, 'finalize');
  const hanging = await bed.failing(fresh().fromBaseImage().setStartCmd('sleep 0.2; exit 4', 'sleep 1000 && true'));
  assert.deepEqual([hanging.step, hanging.message], ['finalize', 'start command failed: exit status 4']);
  assert.match(start.message, /^start command failed: exit status 127$/);
});

test('what a build starts from and is not there is an error of the base step, told in a sentence', async () => {
  const image = await bed.failing(
    Template().fromImage('registry.invalid/nothing:latest', { username: 'a', password: 'b' }),
  );
  assert.equal(image.step, 'base');
  assert.match(image.message, /there is no image registry\.invalid\/nothing:latest/);
  const template = await bed.failing(Template().fromTemplate('no-such-template'));
  assert.deepEqual([template.step, template.message], ['base', "template 'no-such-template' not found"]);
});

test('a user that is missing is made, and the last one is who sandboxes act as', async () => {
  const { name } = await bed.build(
    fresh().fromBaseImage().setUser('worker').setWorkdir('/home/worker/app').runCmd('whoami > me.txt'),
  );
  const sandbox = await Sandbox.create(name, bed.e2b.connection);
  assert.equal((await sandbox.commands.run('whoami; pwd; cat me.txt')).stdout, 'worker\n/home/worker/app\nworker\n');
  assert.equal((await sandbox.commands.run('whoami', { user: 'root' })).stdout, 'root\n');
  await sandbox.files.write('here.txt', 'x');
  assert.equal((await sandbox.commands.run('stat -c %U ~/here.txt')).stdout, 'worker\n');
  await sandbox.kill();
});

test('a template of a template has its files, variables and start command', async () => {
  const parent = await bed.build(
    fresh()
      .fromBaseImage()
      .setEnvs({ FROM_PARENT: 'yes' })
      .setWorkdir('/app')
      .runCmd('echo parent > p.txt')
      .setStartCmd('python3 -m http.server 8123', waitForPort(8123)),
  );
  const child = await bed.build(fresh().fromTemplate(parent.name).runCmd('echo child > c.txt'));
  const sandbox = await Sandbox.create(child.name, bed.e2b.connection);
  assert.equal(
    (await sandbox.commands.run('pwd; cat p.txt c.txt; echo $FROM_PARENT')).stdout,
    '/app\nparent\nchild\nyes\n',
  );
  assert.equal((await sandbox.commands.run('curl -s localhost:8123/c.txt')).stdout, 'child\n');
  await sandbox.kill();
  const builtin = await bed.build(Template().fromTemplate('base'));
  assert.equal(await bed.said(builtin.name, 'pwd; whoami'), '/home/user\nuser\n');
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
    const { name, log } = await bed.build(
      fresh()
        .fromBaseImage()
        .setStartCmd(start, ready as never),
    );
    assert.ok(log.includes('Template is ready'), `${start}: ${log.join('\n')}`);
    assert.equal(await bed.said(name, check), 'ok\n', start);
  }
  const { name } = await bed.build(fresh().fromBaseImage().setReadyCmd('test -d /home/user'));
  assert.equal(await bed.said(name, 'echo ok'), 'ok\n');
});

test('cpuCount and memoryMB of a template are what its sandboxes have', async () => {
  const { name } = await bed.build(Template().fromBaseImage(), { cpuCount: 1, memoryMB: 512 });
  const sandbox = await Sandbox.create(name, bed.e2b.connection);
  const { cpuCount, memoryMB } = await sandbox.getInfo();
  assert.deepEqual([cpuCount, memoryMB], [1, 512]);
  await sandbox.kill();
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
  const { name } = await bed.build(template);
  const sandbox = await Sandbox.create(name, bed.e2b.connection);
  const run = async (command: string) => (await sandbox.commands.run(command)).stdout;
  assert.equal(
    await run('pwd; whoami; cat /greeting.txt; stat -c "%U %n" /srv/plain/f.txt'),
    '/srv\nuser\nhello\nroot /srv/plain/f.txt\n',
  );
  assert.equal(await run('curl -s localhost:8010/plain/f.txt'), 'plain');
  await sandbox.kill();
});

test('an image that is no template of ours is made ready for steps; names that no registry answers for can be mapped', async () => {
  const native = await bed.build(fresh().fromImage('base/debian@12').runCmd('sudo -n id -un > me.txt; pwd >> me.txt'));
  assert.equal(
    await bed.said(native.name, 'whoami; cat ~/me.txt; stat -c %a /usr/local /code'),
    'user\nroot\n/home/user\n777\n777\n',
  );
  const map = join(bed.e2b.node.paths.stateDir, 'image-map.json');
  writeFileSync(map, '{"ubuntu:*": "e2b/base@1"}');
  const mapped = await bed.build(
    fresh()
      .fromUbuntuImage('22.04')
      .makeSymlink('.bashrc', '.bashrc.local')
      .makeSymlink('.bashrc', '.bashrc.local', { force: true }),
  );
  assert.equal(await bed.said(mapped.name, 'readlink ~/.bashrc.local'), '.bashrc\n');
  rmSync(map);
});

test('an older client builds a template, too', async () => {
  const older = await import('e2b-24x');
  const template = older
    .Template({ fileContextPath: files })
    .fromTemplate('base')
    .copy('plain', 'plain')
    .runCmd('cat plain/f.txt > f.txt');
  const info = await older.Template.build(template, 'older', bed.e2b.connection);
  assert.equal(await bed.said(info.templateId, 'cat ~/f.txt'), 'plain');
});
