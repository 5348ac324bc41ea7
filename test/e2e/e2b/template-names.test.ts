import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Sandbox, Template } from 'e2b';
import { TemplateBed } from '../../harness/e2b-templates.ts';
import { runViv } from '../../harness/node.ts';

let bed: TemplateBed;
before(async () => {
  bed = await TemplateBed.open();
});
after(() => bed.close());

test('names, tags and rebuilds: a tag stays with its build until it is moved', async () => {
  const template = (text: string) => Template().fromBaseImage().runCmd(`echo ${text} > v.txt`);
  const first = await bed.build(template('one'), { name: 'tagged:v1', tags: ['old'] });
  assert.deepEqual(first.tags.sort(), ['old', 'v1']);
  const second = await bed.build(template('two'), { name: 'tagged:v2' });
  assert.equal(second.templateId, first.templateId);
  await assert.rejects(
    Sandbox.create('tagged', bed.e2b.connection),
    /404: template 'tagged' has no tag default; it has old, v1, v2/,
  );
  const assigned = await Template.assignTags('tagged:v2', ['production', 'tagged:default'], bed.e2b.connection);
  assert.deepEqual(assigned, { buildId: second.buildId, tags: ['production', 'default'] });
  assert.equal(await bed.said('tagged', 'cat ~/v.txt'), 'two\n');
  assert.equal(await bed.said('tagged:v1', 'cat ~/v.txt'), 'one\n');
  assert.equal(await bed.said(`${first.templateId}:old`, 'cat ~/v.txt'), 'one\n');
  await Template.assignTags('tagged:v1', 'production', bed.e2b.connection);
  assert.equal(await bed.said('tagged:production', 'cat ~/v.txt'), 'one\n');
  const tags = await Template.getTags(first.templateId, bed.e2b.connection);
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
  await Template.removeTags('tagged', ['production', 'old'], bed.e2b.connection);
  await assert.rejects(Sandbox.create('tagged:production', bed.e2b.connection), /404: .*no tag production/);
  for (const wrong of [':v9', 'tagged:', 'other:v1', 'a b', ''])
    await assert.rejects(Template.assignTags('tagged:v1', wrong, bed.e2b.connection), wrong);
  await assert.rejects(Template.assignTags('tagged:nope', 'x', bed.e2b.connection));
  await assert.rejects(Template.removeTags('nonexistent', ['tag'], bed.e2b.connection));
  await assert.rejects(Template.getTags('nonexistent', bed.e2b.connection));
});

test('a name exists when a template or a builtin one has it', async () => {
  await bed.build(Template().fromBaseImage(), { name: 'here' });
  assert.equal(await Template.exists('here', bed.e2b.connection), true);
  assert.equal(await Template.aliasExists('here', bed.e2b.connection), true);
  assert.equal(await Template.exists('base', bed.e2b.connection), true);
  assert.equal(await Template.exists('nonexistent-name', bed.e2b.connection), false);
  await assert.rejects(bed.build(Template().fromBaseImage(), { name: 'base' }), /comes with the node/);
  await assert.rejects(bed.build(Template().fromBaseImage(), { name: 'no such name' }), /no name of a template/);
});

test('a deleted template is gone, what runs from it runs on', async () => {
  const { name, templateId } = await bed.build(Template().fromBaseImage().runCmd('echo mine > m.txt'), {
    name: 'deleted',
  });
  const sandbox = await Sandbox.create(name, bed.e2b.connection);
  assert.equal((await bed.e2b.call('DELETE', `/templates/${templateId}`)).status, 204);
  assert.equal(await Template.exists(name, bed.e2b.connection), false);
  await assert.rejects(Sandbox.create(name, bed.e2b.connection), /404: template 'deleted' not found/);
  assert.equal((await sandbox.commands.run('cat m.txt')).stdout, 'mine\n');
  await sandbox.kill();
  assert.equal((await bed.e2b.call('DELETE', `/templates/${templateId}`)).status, 404);
  assert.equal((await bed.e2b.call('DELETE', '/templates/base')).status, 404);
});

test('the lists show a template with its builds, in pages', async () => {
  const { templateId, buildId } = await bed.build(Template().fromBaseImage(), { name: 'listed' });
  const { body: all } = await bed.e2b.call('GET', '/templates');
  const one = all.find((item: { templateID: string }) => item.templateID === templateId);
  assert.deepEqual(
    [one.names, one.buildID, one.buildStatus, one.public, one.buildCount],
    [['listed'], buildId, 'ready', false, 1],
  );
  const seen: string[] = [];
  let token: string | null = '';
  do {
    const page = await bed.e2b.call('GET', `/v2/templates?limit=2${token && `&nextToken=${token}`}`);
    seen.push(...page.body.map((item: { templateID: string }) => item.templateID));
    token = page.headers.get('x-next-token');
  } while (token !== null);
  assert.deepEqual(
    seen,
    all.map((item: { templateID: string }) => item.templateID),
  );
  const { body: shown } = await bed.e2b.call('GET', '/templates/listed');
  assert.deepEqual([shown.templateID, shown.builds.length, shown.builds[0].buildID], [templateId, 1, buildId]);
  assert.equal((await bed.e2b.call('PATCH', `/v2/templates/${templateId}`, { public: true })).body.names[0], 'listed');
});

test('another key neither sees nor uses nor changes a template, unless it is public', async () => {
  const { templateId, buildId } = await bed.build(Template().fromBaseImage(), { name: 'private' });
  const { secret } = await bed.e2b.node.viv.keys.create({ name: 'other', scopes: ['sandboxes'] });
  const other = { ...bed.e2b.connection, apiKey: secret!.replace('viv_', 'e2b_') };
  const call = (method: string, path: string, body?: unknown) =>
    bed.e2b.call(method, path, body, { 'x-api-key': other.apiKey });
  assert.equal(await Template.exists('private', other), false);
  for (const text of ['private', templateId, `e2b/${templateId}@${buildId}`])
    await assert.rejects(Sandbox.create(text, other), /404: template/, text);
  assert.equal((await call('GET', `/templates/${templateId}/builds/${buildId}/status`)).status, 404);
  assert.equal((await call('DELETE', `/templates/${templateId}`)).status, 404);
  await assert.rejects(Template.build(Template().fromTemplate('private'), 'theirs', other), /not found/);
  // The same name is another template of theirs.
  const own = await Template.build(Template().fromBaseImage(), 'private', other);
  assert.notEqual(own.templateId, templateId);
  await bed.e2b.call('PATCH', `/templates/${templateId}`, { public: true });
  const sandbox = await Sandbox.create(templateId, other);
  await sandbox.kill();
  assert.equal((await call('DELETE', `/templates/${templateId}`)).status, 403);
});

test('viv template tells what there is, and removes it', async () => {
  const { templateId, buildId } = await bed.build(Template().fromBaseImage(), { name: 'seen-by-viv' });
  const viv = (...args: string[]) => runViv(bed.e2b.node, ['template', ...args]);
  const listed = viv('ls');
  assert.match(listed.stdout, /^base +- +ready +e2b\/base@1 /m);
  assert.match(listed.stdout, new RegExp(`^seen-by-viv +${templateId} +ready +e2b/${templateId}@${buildId} `, 'm'));
  assert.equal(viv('install', 'base').stdout, 'base\te2b/base@1\n');
  assert.equal(viv('install', 'other').code, 2);
  assert.equal(JSON.parse(viv('inspect', 'seen-by-viv').stdout).builds[0].buildID, buildId);
  assert.equal(viv('rm', 'seen-by-viv').stdout, 'seen-by-viv\n');
  assert.equal(viv('rm', 'seen-by-viv').code, 3);
});

test('the template base has what its users count on', async () => {
  const { stdout } = runViv(bed.e2b.node, ['image', 'inspect', 'e2b/base@1']);
  assert.deepEqual(
    JSON.parse(stdout).layers.map(({ createdBy }: { createdBy: string }) => createdBy),
    ['builtin:e2b-base'],
  );
  const programs = 'bash curl git python python3 pip node gcc g++ make sudo ss pgrep wget unzip jq socat ssh';
  const missing = await bed.said('base', `for p in ${programs}; do command -v $p >/dev/null || echo $p; done`);
  assert.equal(missing, '');
  assert.equal(
    await bed.said('base', 'id -u; id -un; pwd; sudo -n id -u; ls -A | tr "\\n" " "; stat -c %a /usr/local /code'),
    '1000\nuser\n/home/user\n0\n.bash_logout .bashrc .profile 777\n777\n',
  );
});
