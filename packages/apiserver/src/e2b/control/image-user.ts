import type { Edge } from '@vivarium/edge/edge.ts';

/** Images that were made for this surface have a user `user`; others act as their own. */
export function imageUser(edge: Edge, name: string): string {
  if (name.startsWith('e2b/')) return 'user';
  try {
    return edge.images.get(name).config.user || 'root';
  } catch {
    return 'root';
  }
}
