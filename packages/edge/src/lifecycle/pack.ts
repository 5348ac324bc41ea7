import { type Image, type PackReport, type PackRequest, VivError } from '@vivarium/protocol';
import type { Idempotency, Owner } from '../edge.ts';
import type { Box } from './box.ts';
import { whileFrozen } from './pause.ts';
import { holdingTimeouts } from './timeouts.ts';

/** A sandbox that wrote less is packed as it stands, frozen: reading it takes no longer than copying it. */
const LIVE_BYTES_MAX = 256 * 1024 * 1024;
/** Reports that a sandbox remembers by their keys. */
const KEYS_MAX = 16;

/** A layer of all it changed since its image, as it is, and an image of both. */
export async function snapshotBox(box: Box, image: string, labels?: Record<string, string>): Promise<Image> {
  const request: PackRequest = { image, labels, scrub: 'none', keep: [], exclude: [], times: 'kept' };
  return (await commit(box, request, { kind: 'snapshot', key: box.row.keyId })).image;
}

/** The same with the rules of a pack. The same idempotency key gets the first report, as long as the sandbox and this process live. */
export async function packBox(
  box: Box,
  request: PackRequest,
  { keyId }: Owner,
  idempotency?: Idempotency,
): Promise<PackReport> {
  const pack = () => commit(box, request, { kind: 'pack', key: keyId });
  if (!idempotency) return pack();
  box.packKeys ??= new Map();
  const { packKeys } = box;
  const name = `${keyId} ${idempotency.key}`;
  const { requestHash } = idempotency;
  const before = packKeys.get(name);
  if (before && before.requestHash !== requestHash)
    throw new VivError('idempotency_mismatch', `key "${idempotency.key}" was used for another pack`);
  if (before) return before.report;
  const report = pack();
  packKeys.set(name, { requestHash, report });
  report.catch(() => packKeys.delete(name));
  if (packKeys.size > KEYS_MAX) packKeys.delete(packKeys.keys().next().value!);
  return report;
}

type By = { kind: 'pack' | 'snapshot'; key: string };

async function commit(box: Box, request: PackRequest, by: By): Promise<PackReport> {
  return holdingTimeouts(box, async () => {
    const report = await withChanges(box, ({ upperDir, idShift }) => {
      const { image: name, labels, ...pack } = request;
      const { id, image: parent, overlay = [] } = box.row;
      const lineage = { ...by, sandbox: id };
      const { images } = box.context;
      return images.commit({ name, parent, overlay, upperDir, idShift, labels, createdBy: by.kind, pack, lineage });
    });
    const { image, split } = report;
    box.note('state', { [by.kind]: image.name, digest: image.digest, ...(split && { split: split.image.name }) });
    return report;
  });
}

/** Hands over what it changed, all of one moment. With much of it, the sandbox runs on while a copy is read. */
async function withChanges<T>(
  box: Box,
  work: (changes: { upperDir: string; idShift: number }) => Promise<T>,
): Promise<T> {
  const { handle } = box;
  if (!handle) box.requireCell();
  if ((await handle!.usage()).diskBytes < LIVE_BYTES_MAX)
    return whileFrozen(box, async () => work(await handle!.exportChanges({ live: true })));
  const copy = await whileFrozen(box, () => handle!.exportChanges());
  try {
    return await work(copy);
  } finally {
    await copy.release();
  }
}
