/** What happens in a directory, as the client's `watchDir` and as watchers that are asked tell it. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FileNotFoundError, type FilesystemEvent, InvalidArgumentError, type Sandbox, SandboxError } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

type WatchOpts = NonNullable<Parameters<Sandbox['files']['watchDir']>[2]>;

let node: E2bNode;
let sandbox: Sandbox;
let dir: string;
let turn = 0;

before(async () => {
  node = await startE2bNode();
  sandbox = await node.create();
});
after(() => node?.close());
beforeEach(async () => {
  dir = `watched-${turn++}`;
  await sandbox.files.makeDir(dir);
});

const run = (command: string) => sandbox.commands.run(`cd ${dir} && ${command}`);

/** Watches while `work` is done, until an event reads `last`: all as `type name`. */
async function watched(work: () => Promise<unknown>, last: string, options: WatchOpts = {}): Promise<string[]> {
  const seen: string[] = [];
  const end = Promise.withResolvers<void>();
  const onEvent = ({ type, name }: FilesystemEvent) => {
    seen.push(`${type} ${name}`);
    if (seen.at(-1) === last) end.resolve();
  };
  const handle = await sandbox.files.watchDir(dir, onEvent, {
    ...options,
    onExit: (error) => error && end.reject(error),
  });
  await work();
  await end.promise;
  await handle.stop();
  return seen;
}

test('a file that is written is created and written, one that is there only written', async () => {
  const write = async () => {
    await sandbox.files.write(`${dir}/file`, 'one');
    await sandbox.files.write(`${dir}/file`, 'two');
    await sandbox.files.write(`${dir}/last`, '');
  };
  const seen = await watched(write, 'create last');
  assert.deepEqual(seen, ['create file', 'write file', 'write file', 'create last']);
});

test('programs’ own changes have the types of envd', async () => {
  const seen = await watched(
    () => run('echo x >f; chmod 600 f; mv f g; rm g; mkdir d; touch d/unseen; touch z'),
    'create z',
  );
  const expected = ['create f', 'write f', 'chmod f', 'rename f', 'create g', 'remove g', 'create d', 'create z'];
  assert.deepEqual(
    seen.filter((event) => expected.includes(event)),
    expected,
  );
  assert.ok(!seen.some((event) => event.includes('unseen')));
});

test('a tree is watched with what appears in it, by names relative to it', async () => {
  await sandbox.files.makeDir(`${dir}/old`);
  const seen = await watched(
    async () => {
      await sandbox.files.write(`${dir}/old/a`, 'x');
      await sandbox.files.makeDir(`${dir}/new/er`);
      await delay(200);
      await sandbox.files.write(`${dir}/new/er/b`, 'x');
      await run('mv new went && rm old/a && sleep 0.2 && echo y >went/er/b && rm -r went && touch z');
    },
    'create z',
    { recursive: true },
  );
  const expected = ['create old/a', 'write old/a', 'create new', 'create new/er', 'create new/er/b', 'write new/er/b'];
  expected.push(
    'rename new',
    'create went',
    'remove old/a',
    'write went/er/b',
    'remove went/er/b',
    'remove went/er',
    'remove went',
  );
  for (const event of expected) assert.ok(seen.includes(event), `${event} in ${seen.join(', ')}`);
});

test('entries come with events where asked, but not of what is gone', async () => {
  const events: FilesystemEvent[] = [];
  const end = Promise.withResolvers<void>();
  const onEvent = (event: FilesystemEvent) => {
    events.push(event);
    if (event.type === 'remove') end.resolve();
  };
  const handle = await sandbox.files.watchDir(dir, onEvent, { includeEntry: true });
  await sandbox.files.write(`${dir}/file`, 'x');
  await delay(100);
  await sandbox.files.remove(`${dir}/file`);
  await end.promise;
  await handle.stop();
  const [created, removed] = [
    events.find(({ type }) => type === 'create'),
    events.find(({ type }) => type === 'remove'),
  ];
  assert.deepEqual([created?.entry?.path, created?.entry?.owner], [`/home/user/${dir}/file`, 'user']);
  assert.equal(removed?.entry, undefined);
});

test('a watch ends with its time, with the sandbox, and when it is stopped', async () => {
  const ended = (options: WatchOpts, box = sandbox, path = dir) =>
    new Promise<Error | undefined>((resolve, reject) => {
      box.files.watchDir(path, () => {}, { ...options, onExit: resolve as (error?: Error) => void }).catch(reject);
    });
  assert.equal((await ended({ timeoutMs: 300 }))?.constructor.name, 'TimeoutError');
  const doomed = await node.create();
  const exit = ended({ timeoutMs: 0 }, doomed, '/tmp');
  await delay(500);
  await doomed.kill();
  assert.ok((await exit) instanceof Error);
});

test('only directories that are there are watched', async () => {
  await assert.rejects(
    sandbox.files.watchDir(`${dir}/none`, () => {}),
    FileNotFoundError,
  );
  await sandbox.files.write(`${dir}/file`, 'x');
  await assert.rejects(
    sandbox.files.watchDir(`${dir}/file`, () => {}),
    InvalidArgumentError,
  );
  await assert.rejects(
    sandbox.files.watchDir(`${dir}/file`, () => {}),
    SandboxError,
  );
});

async function ask(method: string, message: object) {
  const response = await fetch(`${node.connection.sandboxUrl}/filesystem.Filesystem/${method}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'e2b-sandbox-id': sandbox.sandboxId,
      'e2b-sandbox-port': '49983',
      'x-access-token': (sandbox as unknown as { envdAccessToken: string }).envdAccessToken,
    },
    body: JSON.stringify(message),
  });
  // biome-ignore lint/suspicious/noExplicitAny: assertions say what it holds.
  return { status: response.status, body: (await response.json()) as any };
}

test('a watcher gathers events until it is asked, and is gone when it is removed', async () => {
  const { watcherId } = (await ask('CreateWatcher', { path: dir })).body;
  assert.match(watcherId, /^w[0-9a-f]{20}$/);
  assert.deepEqual((await ask('GetWatcherEvents', { watcherId })).body, { events: [] });
  await sandbox.files.write(`${dir}/file`, 'x');
  const gathered: object[] = [];
  while (gathered.length < 2) gathered.push(...(await ask('GetWatcherEvents', { watcherId })).body.events);
  assert.deepEqual(gathered, [
    { name: 'file', type: 'EVENT_TYPE_CREATE' },
    { name: 'file', type: 'EVENT_TYPE_WRITE' },
  ]);
  assert.equal((await ask('RemoveWatcher', { watcherId })).status, 200);
  for (const method of ['GetWatcherEvents', 'RemoveWatcher']) {
    const { status, body } = await ask(method, { watcherId });
    assert.deepEqual([status, body.code], [404, 'not_found']);
  }
});

test('watchers of a sandbox are limited in number', async () => {
  const made = await Promise.all(Array.from({ length: 70 }, () => ask('CreateWatcher', { path: dir })));
  assert.equal(made.filter(({ status }) => status === 200).length, 64);
  assert.ok(made.some(({ body }) => body.code === 'resource_exhausted'));
  for (const { body } of made) if (body.watcherId) await ask('RemoveWatcher', { watcherId: body.watcherId });
});
