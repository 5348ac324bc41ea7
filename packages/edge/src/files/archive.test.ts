import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import type { Cell } from '../cell/cell.ts';
import type { CellEntry } from '../cell/entry.ts';
import { archive } from './archive.ts';
import { readTar } from './tar/tar-reader.ts';

const OPTIONS = { user: undefined, signal: new AbortController().signal };

function entry(name: string, type: 'file' | 'dir' = 'file'): CellEntry {
  const common = { mode: 0o644, uid: 0, gid: 0, nlink: 1, ino: 1n, mtimeNs: 0n, target: undefined };
  return { ...common, name: Buffer.from(name), type, size: type === 'file' ? 4 : 0 } as unknown as CellEntry;
}

/** A directory of three files; reading the second fails with this. */
function cellWhere(failure: VivError): Cell {
  return {
    async *list() {
      for (const name of ['a', 'b', 'c']) yield entry(name);
    },
    async read(path: Buffer) {
      if (path.toString().endsWith('/b')) throw failure;
      return { entry: entry('x'), stream: Readable.from([Buffer.from('text')]) };
    },
  } as unknown as Cell;
}

async function names(cell: Cell): Promise<string[]> {
  const found: string[] = [];
  for await (const { entry: member, content } of readTar(
    archive(cell, Buffer.from('/d'), entry('d', 'dir'), OPTIONS),
  )) {
    found.push(member.name.toString());
    for await (const _ of content);
  }
  return found;
}

test('a file that goes away, or becomes a directory, while its directory is read is left out', async () => {
  for (const code of ['path_not_found', 'is_directory', 'not_regular_file'] as const)
    assert.deepEqual(await names(cellWhere(new VivError(code, 'gone'))), ['./a', './c'], code);
});

test('a directory that goes away while it is listed ends the archive with what came', async () => {
  const cell = cellWhere(new VivError('path_not_found', 'gone'));
  const list = async function* () {
    yield entry('a');
    throw new VivError('path_not_found', 'gone');
  };
  assert.deepEqual(await names({ ...cell, list } as unknown as Cell), ['./a']);
});

test('a sandbox that is lost breaks the archive off', async () => {
  await assert.rejects(names(cellWhere(new VivError('sandbox_lost', 'lost'))), { code: 'sandbox_lost' });
});
