import { spawn } from 'node:child_process';
import type { FileNode } from '@vivarium/builder';
import { decompressed } from '@vivarium/layers/importers/compression.ts';
import { VivError } from '@vivarium/protocol';
import { BLOCK_BYTES } from '../files/tar/tar-entry.ts';
import { decodeTarHeader } from '../files/tar/tar-header.ts';
import { readTar, type TarMember } from '../files/tar/tar-reader.ts';

/** Decompressed by a program, as an account with no rights. */
const PROGRAMS = [
  { name: 'xz', package: 'xz-utils', magic: [0xfd, 0x37, 0x7a, 0x58, 0x5a] },
  { name: 'bzip2', package: 'bzip2', magic: [0x42, 0x5a, 0x68] },
];
const NOBODY = '65534';

/** The members of a file that is a tar (plain, gzip, bzip2, xz or zstd), or null when it is none: ADD copies it as it is then. */
export async function archiveMembers(node: FileNode): Promise<AsyncIterable<TarMember> | null> {
  if (node.type !== 'file' || node.size === 0) return null;
  const start = await head(node.read(), 6);
  const program = PROGRAMS.find(({ magic }) => magic.every((byte, index) => start[index] === byte));
  const open = () => (program ? piped(program, node.read()) : decompressed(node.read()));
  try {
    const block = await head(open(), BLOCK_BYTES);
    if (block.length < BLOCK_BYTES || !decodeTarHeader(block)) return null;
  } catch (thrown) {
    if (VivError.from(thrown).code === 'precondition_failed') throw thrown;
    return null;
  }
  return readTar(open());
}

async function head(body: AsyncIterable<Uint8Array>, size: number): Promise<Buffer> {
  let result = Buffer.alloc(0);
  for await (const chunk of body) {
    result = Buffer.concat([result, chunk]);
    if (result.length >= size) break;
  }
  return result.subarray(0, size);
}

async function* piped(
  program: { name: string; package: string },
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const rights = [
    `--reuid=${NOBODY}`,
    `--regid=${NOBODY}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
    '--pdeathsig=KILL',
  ];
  const child = spawn('setpriv', [...rights, '--', program.name, '-dc'], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', resolve);
  });
  child.stdin.on('error', () => {});
  const fed = (async () => {
    for await (const chunk of body) {
      if (child.stdin.destroyed) return;
      if (!child.stdin.write(chunk))
        await new Promise<void>((resolve) => {
          child.stdin.once('drain', resolve);
          child.stdin.once('close', resolve);
        });
    }
    child.stdin.end();
  })();
  fed.catch(() => child.kill('SIGKILL'));
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    await fed;
    const code = await ended;
    if (code === 127)
      throw new VivError('precondition_failed', `${program.name} is not installed on the node`, {
        hint: `apt-get install ${program.package}`,
      });
    if (code !== 0)
      throw new VivError('build_failed', `the archive can't be decompressed: ${program.name} says exit code ${code}`);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}
