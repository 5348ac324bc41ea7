import type { EdgeContext } from '../lifecycle/context.ts';
import { sweepStaging } from './tree/removal.ts';

/**
 * After a start: finishes what was half made or half removed, forgets volumes whose files are gone, and removes what was on its way in
 * or out. Files without a row are left alone and told: somebody's data may be worth more than the space.
 */
export async function reconcile(context: EdgeContext): Promise<void> {
  const { registry, volumeDisk, log } = context;
  const rows = registry.volumes.all();
  if (volumeDisk.trouble !== null) {
    if (rows.length > 0)
      log.error({ trouble: volumeDisk.trouble, volumes: rows.length }, 'the volumes can’t be mounted');
    return;
  }
  for (const row of rows.filter(({ state }) => state !== 'ready')) {
    await volumeDisk.remove(row.id);
    registry.volumes.delete(row.id);
  }
  const there = new Set(volumeDisk.list());
  for (const { id, name } of registry.volumes.all()) {
    if (there.delete(id)) continue;
    log.error({ volume: id, name }, 'the files of a volume are gone; it is forgotten');
    registry.volumes.delete(id);
  }
  if (there.size > 0) log.warn({ volumes: [...there].slice(0, 100) }, 'files of volumes that nobody knows');
  void sweepAll(context);
}

/** In the background: a tree that was being removed may be large. */
async function sweepAll(context: EdgeContext): Promise<void> {
  for (const { id } of context.registry.volumes.all()) {
    if (context.closed) return;
    await sweepStaging(context.volumeDisk.staging(id)).catch((err) =>
      context.log.warn({ err, volume: id }, 'sweeping a volume failed'),
    );
  }
}
