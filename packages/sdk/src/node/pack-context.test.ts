import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import tar from 'tar-stream';
import { packContext } from './pack-context.ts';

/** Names in the context that a directory with these files becomes. */
async function packed(files: Record<string, string>, dockerfile?: string): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), 'viv-context-'));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      if (content.startsWith('->')) symlinkSync(content.slice(2), join(root, path));
      else writeFileSync(join(root, path), content);
    }
    const { context } = await packContext(join(root, 'c'), { dockerfile: dockerfile && join(root, dockerfile) });
    const names: string[] = [];
    const extract = tar.extract();
    extract.on('entry', (header, stream, next) => {
      names.push(header.type === 'symlink' ? `${header.name} -> ${header.linkname}` : header.name);
      stream.on('end', next).resume();
    });
    const ended = new Promise((resolve, reject) => extract.on('finish', () => resolve(null)).on('error', reject));
    Readable.from(context).pipe(extract);
    await ended;
    return names.sort();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

test('what .dockerignore leaves out does not travel; the Dockerfile and the rules always do; links are links', async () => {
  const files = {
    'c/Dockerfile': '',
    'c/.dockerignore': '*\n!src\nsrc/skip',
    'c/src/a': '',
    'c/src/skip/b': '',
    'c/.git/x': '',
    'c/src/l': '->/etc',
  };
  assert.deepEqual(await packed(files), [
    '.dockerignore',
    '.git/',
    'Dockerfile',
    'src/',
    'src/a',
    'src/l -> /etc',
    'src/skip/',
  ]);
});

test('without exceptions an ignored directory is not even read', async () => {
  const files = {
    'c/Dockerfile': '',
    'c/.dockerignore': '.git\n**/node_modules',
    'c/.git/x': '',
    'c/p/node_modules/m': '',
    'c/p/i': '',
  };
  assert.deepEqual(await packed(files), ['.dockerignore', 'Dockerfile', 'p/', 'p/i']);
});

test('a Dockerfile from elsewhere travels beside the files, with its own rules', async () => {
  const files = { 'c/a': '', 'c/b': '', 'f/D': 'FROM x', 'f/D.dockerignore': 'b' };
  assert.deepEqual(await packed(files, 'f/D'), [
    '.vivarium-build/Dockerfile',
    '.vivarium-build/Dockerfile.dockerignore',
    'a',
  ]);
  await assert.rejects(packed({ 'c/a': '' }), { code: 'dockerfile_invalid' });
});
