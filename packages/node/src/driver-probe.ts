import { probeCapabilities } from '@vivarium/edge/drivers/container/capabilities.ts';
import { startSpawner } from '@vivarium/edge/spawner/client.ts';
import type { Capability } from '@vivarium/protocol';

/** What each driver finds out about this machine, without a node: no state directory is needed and nothing stays. */
export async function probeDrivers(): Promise<Capability[]> {
  const spawner = startSpawner();
  try {
    return await probeCapabilities(spawner);
  } finally {
    await spawner.close();
  }
}
