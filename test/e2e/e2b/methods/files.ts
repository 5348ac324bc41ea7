import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { FileNotFoundError, FilesystemEventType, InvalidArgumentError } from 'e2b';
import { type Checks, fresh } from './bed.ts';

/** `files` and the handle of a watch. */
export const FILE_CHECKS: Checks = {
  'sandbox.files.write': async ({ sandbox }) => {
    const path = `${fresh('new')}/dir/ünï.txt`;
    const info = await sandbox.files.write(path, 'first');
    assert.deepEqual([info.name, info.type, info.path], ['ünï.txt', 'file', `/home/user/${path}`]);
    await sandbox.files.write(path, new Blob(['second, from a blob']));
    assert.equal(await sandbox.files.read(path), 'second, from a blob');
    await sandbox.files.write(path, '');
    assert.equal(await sandbox.files.read(path), '');
    assert.equal((await sandbox.commands.run(`stat -c %U:%a ${path}`)).stdout, 'user:644\n');
  },
  'sandbox.files.writeFiles': async ({ sandbox }) => {
    const directory = fresh('many');
    const files = [1, 2, 3].map((n) => ({ path: `${directory}/${n}`, data: `content ${n}` }));
    const written = await sandbox.files.writeFiles(files, { metadata: { made: 'together' } });
    assert.deepEqual(
      written.map(({ path }) => path),
      files.map(({ path }) => `/home/user/${path}`),
    );
    assert.equal(await sandbox.files.read(`${directory}/2`), 'content 2');
    assert.deepEqual((await sandbox.files.getInfo(`${directory}/3`)).metadata, { made: 'together' });
    assert.deepEqual(await sandbox.files.writeFiles([]), []);
  },
  'sandbox.files.read': async ({ sandbox }) => {
    const path = fresh('read');
    const all = Uint8Array.from({ length: 256 }, (_, n) => n);
    await sandbox.files.write(path, all.buffer);
    assert.deepEqual(await sandbox.files.read(path, { format: 'bytes' }), all);
    assert.deepEqual(new Uint8Array(await (await sandbox.files.read(path, { format: 'blob' })).arrayBuffer()), all);
    const chunks = [];
    for await (const chunk of await sandbox.files.read(path, { format: 'stream' })) chunks.push(...chunk);
    assert.deepEqual(Uint8Array.from(chunks), all);
    await assert.rejects(sandbox.files.read('nothing/here'), FileNotFoundError);
    await assert.rejects(sandbox.files.read('/tmp'), InvalidArgumentError);
  },
  'sandbox.files.list': async ({ sandbox }) => {
    const directory = fresh('list');
    await sandbox.files.write(`${directory}/a/deep/file`, 'x');
    await sandbox.files.write(`${directory}/b`, 'xyz');
    const one = await sandbox.files.list(directory);
    assert.deepEqual(one.map(({ name, type, size }) => [name, type, type === 'file' && size]).sort(), [
      ['a', 'dir', false],
      ['b', 'file', 3],
    ]);
    const two = await sandbox.files.list(directory, { depth: 2 });
    assert.deepEqual(two.map(({ path }) => path.split(`${directory}/`)[1]).sort(), ['a', 'a/deep', 'b']);
    await assert.rejects(sandbox.files.list(`${directory}/none`), FileNotFoundError);
  },
  'sandbox.files.makeDir': async ({ sandbox }) => {
    const directory = `${fresh('made')}/x/y`;
    assert.equal(await sandbox.files.makeDir(directory), true);
    assert.equal(await sandbox.files.makeDir(directory), false, 'it is there already');
    assert.equal((await sandbox.commands.run(`stat -c %F:%U ${directory}`)).stdout, 'directory:user\n');
  },
  'sandbox.files.rename': async ({ sandbox }) => {
    const [from, to] = [fresh('from'), fresh('to')];
    await sandbox.files.write(from, 'moved');
    await sandbox.files.write(to, 'in the way');
    const info = await sandbox.files.rename(from, to);
    assert.deepEqual([info.name, info.path], [to, `/home/user/${to}`]);
    assert.deepEqual([await sandbox.files.exists(from), await sandbox.files.read(to)], [false, 'moved']);
    await assert.rejects(sandbox.files.rename(from, to), FileNotFoundError);
  },
  'sandbox.files.remove': async ({ sandbox }) => {
    const directory = fresh('gone');
    await sandbox.files.write(`${directory}/a/b`, 'x');
    await sandbox.files.remove(directory);
    assert.equal(await sandbox.files.exists(directory), false);
    await sandbox.files.remove(directory);
  },
  'sandbox.files.exists': async ({ sandbox }) => {
    assert.deepEqual(
      [
        await sandbox.files.exists('/etc/passwd'),
        await sandbox.files.exists('/etc'),
        await sandbox.files.exists('/no'),
      ],
      [true, true, false],
    );
  },
  'sandbox.files.getInfo': async ({ sandbox }) => {
    const path = fresh('info');
    await sandbox.files.write(path, '12345', { metadata: { author: 'me' } });
    await sandbox.commands.run(`chmod 640 ${path}; ln -s ${path} ${path}.link`);
    const info = await sandbox.files.getInfo(path);
    assert.deepEqual([info.type, info.size, info.mode, info.permissions], ['file', 5, 0o640, '-rw-r-----']);
    assert.deepEqual([info.owner, info.group, info.metadata], ['user', 'user', { author: 'me' }]);
    assert.ok(Math.abs(info.modifiedTime!.getTime() - Date.now()) < 60_000);
    assert.equal((await sandbox.files.getInfo(`${path}.link`)).symlinkTarget, `/home/user/${path}`);
    await assert.rejects(sandbox.files.getInfo(`${path}.none`), FileNotFoundError);
  },
  'sandbox.files.watchDir': async ({ sandbox }) => {
    const directory = fresh('watched');
    await sandbox.files.makeDir(directory);
    const seen: string[] = [];
    const handle = await sandbox.files.watchDir(directory, ({ type, name }) => void seen.push(`${type} ${name}`), {
      recursive: true,
      timeoutMs: 0,
    });
    await sandbox.files.makeDir(`${directory}/sub`);
    await until(() => seen.includes(`${FilesystemEventType.CREATE} sub`));
    await sandbox.files.write(`${directory}/sub/file`, 'x');
    await until(() => seen.includes(`${FilesystemEventType.WRITE} sub/file`));
    await sandbox.files.remove(`${directory}/sub/file`);
    await until(() => seen.includes(`${FilesystemEventType.REMOVE} sub/file`));
    await handle.stop();
    await assert.rejects(
      sandbox.files.watchDir(`${directory}/none`, () => {}),
      FileNotFoundError,
    );
  },
  'watchHandle.stop': async ({ sandbox }) => {
    const directory = fresh('unwatched');
    await sandbox.files.makeDir(directory);
    const seen: string[] = [];
    let exited = false;
    const onExit = () => {
      exited = true;
    };
    const handle = await sandbox.files.watchDir(directory, ({ name }) => void seen.push(name), { onExit });
    await sandbox.files.write(`${directory}/one`, '1');
    await until(() => seen.includes('one'));
    await handle.stop();
    await sandbox.files.write(`${directory}/two`, '2');
    await delay(300);
    assert.deepEqual([seen.includes('two'), exited], [false, true]);
  },
};

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    assert.ok(tries < 100, 'it did not come');
    await delay(100);
  }
}
