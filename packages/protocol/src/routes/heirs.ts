import { z } from '@hono/zod-openapi';
import { Image } from '../image.ts';
import { PackReport, PackRequest } from '../pack.ts';
import { ForkRequest, Sandbox, SnapshotRequest } from '../sandbox.ts';
import { routes } from './route.ts';

const scope = ['sandboxes'] as const;
const tag = 'sandboxes';
const one = '/v1/sandboxes/{id}';

/** What is made of a sandbox: copies of it, and images. */
export const HEIR_ROUTES = routes({
  'sandbox.fork': {
    method: 'POST',
    path: `${one}/fork`,
    tag,
    scope,
    summary: 'Copies with the same files',
    body: ForkRequest,
    idempotent: true,
    status: 200,
    result: z.object({ items: z.array(Sandbox) }),
    errors: ['sandbox_not_found', 'sandbox_dead', 'idempotency_mismatch', 'quota_exceeded', 'node_full', 'unsupported'],
  },
  'sandbox.snapshot': {
    method: 'POST',
    path: `${one}/snapshot`,
    tag,
    scope,
    summary: 'Keep its files as an image',
    body: SnapshotRequest,
    status: 200,
    result: Image,
    errors: ['sandbox_not_found', 'sandbox_dead', 'image_exists', 'unsupported', 'node_disk_full'],
  },
  'sandbox.pack': {
    method: 'POST',
    path: `${one}/pack`,
    tag,
    scope,
    summary: 'Make an image of what it changed',
    description:
      'One layer of what differs from its image, without residue, and an image of both. The sandbox goes on; time-outs wait.',
    body: PackRequest,
    idempotent: true,
    status: 200,
    result: PackReport,
    errors: [
      'sandbox_not_found',
      'sandbox_dead',
      'image_exists',
      'invalid_image',
      'idempotency_mismatch',
      'unsupported',
      'node_disk_full',
    ],
  },
});
