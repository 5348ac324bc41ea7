import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Images } from '../images.ts';

/** Lies over every state that is graded: `/logs` with its three directories, `/logs/verifier` empty whatever is below. */
export const LOGS_IMAGE = 'cache/verifier-logs@1';
const BLOCK = 512;

/** Does something that needs the image; makes it when the node has it not yet. */
export async function withLogsImage<T>(images: Images, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!isMissing(error)) throw error;
    await images.importTar(LOGS_IMAGE, logsTar(), { opaque: ['/logs/verifier'] }).catch(ignoreExisting);
    return action();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof VivError && error.code === 'image_not_found' && error.message.includes(LOGS_IMAGE);
}

/** Another client made it meanwhile. */
function ignoreExisting(error: unknown): void {
  if (!(error instanceof VivError && error.code === 'image_exists')) throw error;
}

/** Four directories: `/logs`, which everybody may read, and three that everybody may write. */
function logsTar(): Uint8Array {
  const blocks = [
    directory('logs/', '0000755'),
    ...['agent', 'verifier', 'artifacts'].map((name) => directory(`logs/${name}/`, '0000777')),
  ];
  const tar = new Uint8Array(BLOCK * (blocks.length + 2));
  for (const [index, block] of blocks.entries()) tar.set(block, index * BLOCK);
  return tar;
}

/** The header of a directory in a tar (ustar, POSIX.1-2017 pax): owned by 0, time 0. */
function directory(name: string, mode: string): Uint8Array {
  const header = new Uint8Array(BLOCK);
  const put = (text: string, offset: number) => header.set(new TextEncoder().encode(text), offset);
  put(name, 0);
  for (const [offset, value] of [
    [100, mode],
    [108, '0000000'],
    [116, '0000000'],
    [124, '00000000000'],
    [136, '00000000000'],
  ] as const)
    put(value, offset);
  put('        5', 148);
  put('ustar', 257);
  put('00', 263);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
