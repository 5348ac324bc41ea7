import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { PackOptions } from '../store.ts';
import { place } from '../testing/place.ts';
import { makeWorld } from '../testing/world.ts';

type Split = Omit<NonNullable<PackOptions['split']>, 'image'>;

/** What the split image shows of the paths that count here, as `path content` or `path ->`, after the changes. */
async function shown(t: TestContext, change: (at: (path: string) => string) => void, split: Split): Promise<string[]> {
  const world = await makeWorld(place(t), (root) => {
    for (const dir of ['usr/local/bin', 'usr/bin', 'usr/lib/deep', 'app', 'srv'])
      mkdirSync(join(root, dir), { recursive: true });
    for (const file of ['usr/bin/sh', 'usr/bin/cat', 'usr/lib/deep/x.so', 'usr/lib/readme', 'app/main', 'srv/data'])
      writeFileSync(join(root, file), 'image');
  });
  writeFileSync(join(world.root, 'marker'), 'agent');
  change((path) => join(world.root, path));
  await world.pack('whole@1', { scrub: 'none', split: { image: 'split@1', ...split } });
  const lines = await world.shows('split@1');
  return lines.flatMap((line) => {
    const [, path, type, content] = /^"([^"]+)" (\S) .*?(?:"([^"]*)"|$)/.exec(line)!;
    if (type === 'd' || path === 'marker') return [];
    return [type === 'l' ? `${path} ->` : `${path} ${content}`];
  });
}

const RESTORE: Split = { protect: [], restore: ['/usr/bin', '/usr/lib/**/*.so'] };

test('what the image has comes back where it is to be restored, and what was added there stays', async (t) => {
  const change = (at: (path: string) => string) => {
    writeFileSync(at('usr/bin/sh'), 'agent');
    rmSync(at('usr/bin/cat'));
    writeFileSync(at('usr/bin/new'), 'agent');
    symlinkSync('new', at('usr/bin/link'));
    writeFileSync(at('usr/lib/deep/x.so'), 'agent');
    writeFileSync(at('usr/lib/deep/y.so'), 'agent');
    writeFileSync(at('usr/lib/readme'), 'agent');
    writeFileSync(at('app/main'), 'agent');
  };
  assert.deepEqual(await shown(t, change, RESTORE), [
    'app/main agent',
    'srv/data image',
    'usr/bin/cat image',
    'usr/bin/link ->',
    'usr/bin/new agent',
    'usr/bin/sh image',
    'usr/lib/deep/x.so image',
    'usr/lib/deep/y.so agent',
    'usr/lib/readme agent',
  ]);
});

test('directories above that were deleted, replaced by a link or by a file do not keep it from coming back', async (t) => {
  const put = (each: string) => (at: (path: string) => string) => {
    rmSync(at('usr'), { recursive: true });
    if (each === 'link') symlinkSync('srv', at('usr'));
    if (each === 'file') writeFileSync(at('usr'), 'agent');
  };
  for (const each of ['nothing', 'link', 'file']) {
    const lines = await shown(t, put(each), RESTORE);
    const back = lines.filter((line) => line.startsWith('usr') && !line.includes('readme'));
    assert.deepEqual(back, ['usr/bin/cat image', 'usr/bin/sh image', 'usr/lib/deep/x.so image'], each);
  }
});

test('a file that became a directory is a file again', async (t) => {
  const change = (at: (path: string) => string) => {
    rmSync(at('usr/bin/sh'));
    mkdirSync(at('usr/bin/sh'));
    writeFileSync(at('usr/bin/sh/inner'), 'agent');
  };
  assert.ok((await shown(t, change, RESTORE)).includes('usr/bin/sh image'));
});

test('exceptions are as the sandbox left them', async (t) => {
  const change = (at: (path: string) => string) => {
    writeFileSync(at('usr/bin/sh'), 'agent');
    writeFileSync(at('usr/bin/cat'), 'agent');
  };
  const lines = await shown(t, change, { ...RESTORE, except: ['/usr/bin/cat'] });
  assert.deepEqual(
    lines.filter((line) => line.startsWith('usr/bin')),
    ['usr/bin/cat agent', 'usr/bin/sh image'],
  );
});

test('only what is asked for is in the image, less what is protected', async (t) => {
  const change = (at: (path: string) => string) => {
    writeFileSync(at('usr/bin/sh'), 'agent');
    rmSync(at('srv/data'));
    cpSync(at('usr'), at('usr2'), { recursive: true });
    writeFileSync(at('app/main'), 'agent');
    writeFileSync(at('app/conftest.py'), 'agent');
    mkdirSync(at('app/deep/er'), { recursive: true });
    writeFileSync(at('app/deep/er/x'), 'agent');
  };
  assert.deepEqual(await shown(t, change, { protect: ['conftest.py'], only: ['/app'] }), [
    'app/deep/er/x agent',
    'app/main agent',
    'srv/data image',
    'usr/bin/cat image',
    'usr/bin/sh image',
    'usr/lib/deep/x.so image',
    'usr/lib/readme image',
  ]);
});

test('an added program that hides one of the image stays out, also behind a link; others stay in', async (t) => {
  const programs = ['/opt/tools/bin', '/usr/local/bin', '/usr/bin'];
  const change = (at: (path: string) => string) => {
    writeFileSync(at('usr/local/bin/sh'), 'agent');
    writeFileSync(at('usr/local/bin/new'), 'agent');
    symlinkSync('new', at('usr/local/bin/cat'));
    writeFileSync(at('usr/bin/new2'), 'agent');
    mkdirSync(at('opt/evil/bin'), { recursive: true });
    writeFileSync(at('opt/evil/bin/sh'), 'agent');
    symlinkSync('evil', at('opt/tools'));
  };
  const rest = ['app/main image', 'opt/evil/bin/sh agent', 'srv/data image', 'usr/bin/cat image', 'usr/bin/new2 agent'];
  const lines = await shown(t, change, { protect: [], programs });
  const expected = [...rest, 'usr/bin/sh image', 'usr/lib/deep/x.so image', 'usr/lib/readme image'];
  assert.deepEqual(lines, [...expected, 'usr/local/bin/new agent'].sort());
  const excepted = await shown(t, change, { protect: [], programs, except: ['/usr/local/bin/sh'] });
  assert.ok(excepted.includes('usr/local/bin/sh agent'));
});

test('nothing that was added stays where a path is closed, also behind a link, but for exceptions', async (t) => {
  const closed = ['/usr/lib/deep', '/opt/*/start', '*.pth'];
  const change = (at: (path: string) => string) => {
    writeFileSync(at('usr/lib/deep/x.so'), 'agent');
    mkdirSync(at('usr/lib/deep/x'));
    writeFileSync(at('usr/lib/deep/x/init'), 'agent');
    writeFileSync(at('usr/lib/new'), 'agent');
    writeFileSync(at('app/a.pth'), 'agent');
    mkdirSync(at('srv/start'));
    mkdirSync(at('opt/b'), { recursive: true });
    writeFileSync(at('opt/b/other'), 'agent');
    symlinkSync('../srv', at('opt/a'));
    symlinkSync('../../srv/start', at('opt/b/start'));
  };
  const rest = ['app/main image', 'opt/b/other agent', 'srv/data image', 'usr/bin/cat image', 'usr/bin/sh image'];
  const kept = [...rest, 'usr/lib/new agent', 'usr/lib/readme image'];
  const lines = await shown(t, change, { protect: [], restore: ['/usr/lib/deep'], closed });
  assert.deepEqual(lines, [...kept, 'usr/lib/deep/x.so image'].sort());
  const excepted = await shown(t, change, {
    protect: [],
    restore: ['/usr/lib/deep'],
    closed,
    except: ['/usr/lib/deep', '/app'],
  });
  const more = ['app/a.pth agent', 'usr/lib/deep/x.so agent', 'usr/lib/deep/x/init agent'];
  assert.deepEqual(excepted, [...kept, ...more].sort());
});
