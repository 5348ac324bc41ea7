import assert from 'node:assert/strict';
import type { Sandbox } from 'e2b';
import { type Bed, type Checks, fresh } from './bed.ts';

const author = { authorName: 'A', authorEmail: 'a@example.com' };

/** `git`; repositories that are far away are directories of the same sandbox. */
export const GIT_CHECKS: Checks = {
  'sandbox.git.init': async ({ sandbox }) => {
    const path = at('init');
    await sandbox.git.init(path, { initialBranch: 'trunk' });
    assert.equal(await out(sandbox, `git -C ${path} symbolic-ref --short HEAD`), 'trunk');
  },
  'sandbox.git.add': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.files.write(`${path}/new`, 'x');
    await bed.sandbox.files.write(`${path}/other`, 'x');
    await bed.sandbox.git.add(path, { files: ['new'] });
    assert.equal(await out(bed.sandbox, `git -C ${path} diff --cached --name-only`), 'new');
  },
  'sandbox.git.commit': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.commit(path, 'second "quoted"', { ...author, allowEmpty: true });
    assert.equal(
      await out(bed.sandbox, `git -C ${path} log -1 --format='%s %an %ae'`),
      'second "quoted" A a@example.com',
    );
  },
  'sandbox.git.status': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.files.write(`${path}/README`, 'changed');
    await bed.sandbox.files.write(`${path}/new`, 'x');
    const status = await bed.sandbox.git.status(path);
    assert.equal(status.currentBranch, 'main');
    assert.deepEqual(status.fileStatus.map(({ name }) => name).sort(), ['README', 'new']);
    assert.deepEqual([status.isClean, status.hasUntracked], [false, true]);
  },
  'sandbox.git.branches': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.createBranch(path, 'topic');
    const { branches, currentBranch } = await bed.sandbox.git.branches(path);
    assert.deepEqual([[...branches].sort(), currentBranch], [['main', 'topic'], 'topic']);
  },
  'sandbox.git.createBranch': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.createBranch(path, 'feature/x');
    assert.equal(await out(bed.sandbox, `git -C ${path} symbolic-ref --short HEAD`), 'feature/x');
  },
  'sandbox.git.checkoutBranch': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.createBranch(path, 'topic');
    await bed.sandbox.git.checkoutBranch(path, 'main');
    assert.equal((await bed.sandbox.git.status(path)).currentBranch, 'main');
  },
  'sandbox.git.deleteBranch': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.createBranch(path, 'topic');
    await bed.sandbox.git.checkoutBranch(path, 'main');
    await bed.sandbox.git.deleteBranch(path, 'topic');
    assert.deepEqual((await bed.sandbox.git.branches(path)).branches, ['main']);
  },
  'sandbox.git.reset': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.files.write(`${path}/README`, 'changed');
    await bed.sandbox.git.reset(path, { mode: 'hard', target: 'HEAD' });
    assert.equal(await bed.sandbox.files.read(`${path}/README`), 'first\n');
  },
  'sandbox.git.restore': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.files.write(`${path}/README`, 'changed');
    await bed.sandbox.git.restore(path, { paths: ['README'] });
    assert.equal(await bed.sandbox.files.read(`${path}/README`), 'first\n');
  },
  'sandbox.git.remoteAdd': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.remoteAdd(path, 'origin', 'https://example.com/a.git');
    await bed.sandbox.git.remoteAdd(path, 'origin', 'https://example.com/b.git', { overwrite: true });
    assert.equal(await out(bed.sandbox, `git -C ${path} remote get-url origin`), 'https://example.com/b.git');
  },
  'sandbox.git.remoteGet': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.remoteAdd(path, 'up', 'https://example.com/up.git');
    assert.equal(await bed.sandbox.git.remoteGet(path, 'up'), 'https://example.com/up.git');
    assert.equal(await bed.sandbox.git.remoteGet(path, 'none'), undefined);
  },
  'sandbox.git.clone': async (bed) => {
    const [from, to] = [await repository(bed), at('clone')];
    await bed.sandbox.git.clone(from, { path: to, branch: 'main' });
    assert.equal(await bed.sandbox.files.read(`${to}/README`), 'first\n');
  },
  'sandbox.git.push': async (bed) => {
    const { remote, path } = await withRemote(bed);
    await bed.sandbox.git.push(path, { remote: 'origin', branch: 'main', setUpstream: true });
    assert.equal(await out(bed.sandbox, `git -C ${remote} log -1 --format=%s main`), 'first');
  },
  'sandbox.git.pull': async (bed) => {
    const { remote, path } = await withRemote(bed);
    await bed.sandbox.git.push(path, { remote: 'origin', branch: 'main', setUpstream: true });
    const other = at('other');
    await bed.sandbox.git.clone(remote, { path: other, branch: 'main' });
    await bed.sandbox.git.commit(path, 'news', { ...author, allowEmpty: true });
    await bed.sandbox.git.push(path);
    await bed.sandbox.git.pull(other);
    assert.equal(await out(bed.sandbox, `git -C ${other} log -1 --format=%s`), 'news');
  },
  'sandbox.git.setConfig': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.git.setConfig('pull.rebase', 'false', { scope: 'local', path });
    assert.equal(await out(bed.sandbox, `git -C ${path} config --local pull.rebase`), 'false');
  },
  'sandbox.git.getConfig': async (bed) => {
    const path = await repository(bed);
    await bed.sandbox.commands.run(`git -C ${path} config some.key value`);
    assert.equal(await bed.sandbox.git.getConfig('some.key', { scope: 'local', path }), 'value');
    assert.equal(await bed.sandbox.git.getConfig('no.key', { scope: 'local', path }), undefined);
  },
  'sandbox.git.configureUser': async ({ sandbox }) => {
    await sandbox.git.configureUser('Some One', 'some@example.com');
    assert.equal(await out(sandbox, 'git config --global user.email'), 'some@example.com');
  },
  'sandbox.git.dangerouslyAuthenticate': async ({ sandbox }) => {
    await sandbox.git.dangerouslyAuthenticate({ username: 'me', password: 'secret' });
    const asked = 'printf "protocol=https\\nhost=github.com\\n\\n" | git credential fill';
    assert.match(await out(sandbox, asked), /username=me\npassword=secret/);
  },
};

const at = (name: string) => `/home/user/${fresh(name)}`;

async function out(sandbox: Sandbox, command: string): Promise<string> {
  return (await sandbox.commands.run(command)).stdout.trim();
}

/** With one commit on the branch main. */
async function repository({ sandbox }: Bed): Promise<string> {
  const path = at('repo');
  await sandbox.git.init(path, { initialBranch: 'main' });
  await sandbox.files.write(`${path}/README`, 'first\n');
  await sandbox.git.add(path);
  await sandbox.git.commit(path, 'first', author);
  return path;
}

async function withRemote(bed: Bed): Promise<{ remote: string; path: string }> {
  const [remote, path] = [at('remote'), await repository(bed)];
  await bed.sandbox.git.init(remote, { bare: true, initialBranch: 'main' });
  await bed.sandbox.git.remoteAdd(path, 'origin', remote);
  return { remote, path };
}
