import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Sandbox, VivError } from '@vivarium/sdk';
import tar from 'tar-stream';
import { carryArtifacts, filtered } from './carry-artifacts.ts';

type Made = { type: 'dir' | 'file'; fill: (pack: tar.Pack) => void };

/** What of an agent's files, by path, is carried over, as `target: name`. */
async function carried(artifacts: string[], made: Record<string, Made>): Promise<string[]> {
  const names: string[] = [];
  const from = {
    files: {
      stat: async (path: string) => {
        if (made[path] === undefined) throw new VivError('path_not_found', 'nothing there');
        return { type: made[path].type };
      },
      download: async (path: string) => {
        const pack = tar.pack();
        made[path]!.fill(pack);
        pack.finalize();
        return pack;
      },
    },
  };
  const upload = async (target: string, archive: AsyncIterable<Uint8Array>) => {
    const extract = tar.extract();
    extract.on('entry', (header, stream, next) => {
      names.push(`${target}: ${header.name}`);
      stream.on('end', next).resume();
    });
    for await (const chunk of archive) extract.write(chunk);
  };
  const all = artifacts.map((source) => ({ source, destination: null, exclude: ['*.tmp'] }));
  await carryArtifacts(from as unknown as Sandbox, { files: { upload } } as unknown as Sandbox, all as never);
  return names;
}

test('a link in one artifact does not lead where another one lands', async () => {
  const link = (name: string) => (pack: tar.Pack) => {
    pack.entry({ name: './', type: 'directory' });
    pack.entry({ name, type: 'symlink', linkname: '/tests' });
    pack.entry({ name: './other', type: 'symlink', linkname: 'x' });
  };
  const inner: Made = { type: 'dir', fill: (pack) => pack.entry({ name: './test.sh' }, 'agent') };
  for (const [nested, name] of [
    ['/logs/artifacts/report', './report'],
    ['/logs/artifacts/a/report', './a'],
  ] as const) {
    const names = await carried([nested], { '/logs/artifacts': { type: 'dir', fill: link(name) }, [nested]: inner });
    assert.deepEqual(names, ['/logs/artifacts: ./', '/logs/artifacts: ./other', `${nested}: ./test.sh`]);
  }
});

test('a file that became a directory since puts nothing beside itself', async () => {
  const fill = (pack: tar.Pack) => {
    pack.entry({ name: './tests/test.sh' }, 'agent');
    pack.entry({ name: 'answer' }, '42');
  };
  assert.deepEqual(await carried(['/answer'], { '/answer': { type: 'file', fill } }), ['/: answer']);
});

test('what an artifact excludes stays behind', async () => {
  const fill = (pack: tar.Pack) => {
    pack.entry({ name: './a.tmp' }, 'x');
    pack.entry({ name: './b' }, 'x');
  };
  assert.deepEqual(await carried(['/srv/out'], { '/srv/out': { type: 'dir', fill } }), ['/srv/out: ./b']);
});

test('a source that fails before anybody reads fails the reader, and nobody else', async () => {
  const gone: AsyncIterable<Uint8Array> = {
    // biome-ignore lint/correctness/useYield: it fails first.
    async *[Symbol.asyncIterator]() {
      throw new VivError('connection_lost', 'gone');
    },
  };
  const archive = filtered(gone, () => true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(
    async () => {
      for await (const _ of archive);
    },
    { code: 'connection_lost' },
  );
});
