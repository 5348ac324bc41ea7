import { open } from 'node:fs/promises';
import { runTool } from '../tool.ts';

/** Year 9999: file times stay what they are (they are only clamped to this), and the superblock's own time is always the same. */
const SOURCE_DATE_EPOCH = '253402300799';

/**
 * Writes a tree as one uncompressed EROFS file (mkfs.erofs(1), Debian package erofs-utils), durable when this resolves. The same tree
 * and UUID give the same bytes from the same mkfs. @throws VivError `import_failed`, `precondition_failed`.
 */
export async function buildErofs(tree: string, file: string, uuid: string, signal: AbortSignal): Promise<void> {
  await runTool('mkfs.erofs', ['--quiet', '-U', uuid, file, tree], {
    signal,
    env: { SOURCE_DATE_EPOCH },
    package: 'erofs-utils',
  });
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
