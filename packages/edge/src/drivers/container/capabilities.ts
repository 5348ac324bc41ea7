import type { Capability } from '@vivarium/protocol';
import type { Spawner } from '../../spawner/client.ts';
export async function probeCapabilities(_spawner: Spawner, _crun?: string): Promise<Capability[]> {
  return [];
}
