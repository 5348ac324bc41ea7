import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

const CHUNK_BYTES = 256 * 1024;

/** Have two regular files the same bytes? Nothing else is opened: no link followed, no FIFO waited for. */
export async function sameContent(a: Buffer, b: Buffer): Promise<boolean> {
  await using left = await openRegular(a);
  await using right = await openRegular(b);
  if (!left || !right) return false;
  const chunks = [Buffer.alloc(CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES)] as const;
  for (;;) {
    const [readLeft, readRight] = await Promise.all([fill(left, chunks[0]), fill(right, chunks[1])]);
    if (readLeft !== readRight || !chunks[0].subarray(0, readLeft).equals(chunks[1].subarray(0, readRight)))
      return false;
    if (readLeft < CHUNK_BYTES) return true;
  }
}

async function openRegular(path: Buffer): Promise<FileHandle | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  return undefined;
}

/** Reads until the buffer is full or the file ends. */
async function fill(handle: FileHandle, buffer: Buffer): Promise<number> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}
