import type { Image, PackReport, PackRequest } from '@vivarium/protocol';
import type { Box } from './box.ts';
import { whileFrozen } from './pause.ts';

/** A layer of all it changed since its image, as it is, and an image of both. */
export async function snapshotBox(box: Box, image: string, labels?: Record<string, string>): Promise<Image> {
  const request = { image, labels, scrub: 'none', keep: [], exclude: [], times: 'kept' } as const;
  return (await commit(box, { ...request, keep: [], exclude: [] }, 'snapshot')).image;
}

/** The same with the rules of a pack. */
export function packBox(box: Box, request: PackRequest): Promise<PackReport> {
  return commit(box, request, 'pack');
}

async function commit(box: Box, request: PackRequest, kind: 'pack' | 'snapshot'): Promise<PackReport> {
  const { image: name, labels, ...pack } = request;
  const { row } = box;
  return whileFrozen(box, async () => {
    const exported = await box.handle!.exportChanges();
    try {
      const { upperDir, idShift } = exported;
      const report = await box.context.images.commit({
        name,
        parent: row.image,
        overlay: row.overlay ?? [],
        upperDir,
        idShift,
        labels,
        createdBy: kind,
        pack,
        lineage: { kind, sandbox: row.id, key: row.keyId },
      });
      box.note('state', { [kind]: name, digest: report.image.digest });
      return report;
    } finally {
      await exported.release();
    }
  });
}
