import { BuildProgress, BuildQuery, PruneReport } from '../build.ts';
import { routes } from './route.ts';

const tag = 'images';
const scope = ['images'] as const;

export const BUILD_ROUTES = routes({
  'build.run': {
    method: 'POST',
    path: '/v1/builds',
    tag,
    scope,
    summary: 'Make an image from a Dockerfile',
    description:
      'The body is a tar of the build context. One BuildProgress per line; the last line is `done` or `error`. A client that leaves ends the build; nothing half-made stays.',
    query: BuildQuery,
    bodyStream: 'application/x-tar',
    status: 200,
    result: BuildProgress,
    media: 'application/x-ndjson',
    errors: [
      'dockerfile_invalid',
      'build_failed',
      'image_not_found',
      'image_exists',
      'invalid_archive',
      'node_disk_full',
      'unsupported',
    ],
  },
  'build.prune': {
    method: 'POST',
    path: '/v1/builds/prune',
    tag,
    scope,
    summary: 'Remove the cached steps of builds',
    description: 'Images that were built keep their layers. Steps that a build or a sandbox uses now stay.',
    status: 200,
    result: PruneReport,
    errors: [],
  },
});
