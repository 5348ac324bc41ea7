import { z } from '@hono/zod-openapi';
import { flag } from '../files.ts';
import { ImageName, PageQuery, page } from '../id.ts';
import { Image, ImageImport, Progress } from '../image.ts';
import { routes } from './route.ts';

export const ImportTarQuery = z.object({
  name: ImageName,
  config: z.string().max(65_536).optional().describe('ImageConfig as JSON in base64 (or base64url)'),
  opaque: z
    .array(z.string().startsWith('/').max(4096))
    .max(64)
    .default([])
    .describe('directories of the tree that hide what lies below them when the image is laid over another; repeated'),
});

export const ImportOciQuery = z.object({
  name: ImageName,
  ref: z.string().max(512).optional().describe('which image, if the archive has several: a name, a tag or a digest'),
  config: ImportTarQuery.shape.config,
});

export const ImageListQuery = PageQuery.extend({
  all: flag.describe('also the steps of builds (`cache/…`)'),
});

const tag = 'images';
const read = ['images', 'sandboxes'] as const;
const write = ['images'] as const;
const progress = 'One Progress per line; the last line is `done` or `error`.';
const errors = ['image_exists', 'invalid_image', 'import_failed', 'node_disk_full', 'unsupported'] as const;

export const IMAGE_ROUTES = routes({
  'image.list': {
    method: 'GET',
    path: '/v1/images',
    tag,
    scope: read,
    summary: 'List images',
    query: ImageListQuery,
    status: 200,
    result: page(Image),
    errors: [],
  },
  'image.get': {
    method: 'GET',
    path: '/v1/images/{name}',
    tag,
    scope: read,
    summary: 'Inspect an image',
    description: 'The name is URL-encoded: `base%2Fdebian%4012`.',
    status: 200,
    result: Image,
    errors: ['image_not_found'],
  },
  'image.remove': {
    method: 'DELETE',
    path: '/v1/images/{name}',
    tag,
    scope: write,
    summary: 'Remove an image',
    status: 204,
    errors: ['image_not_found', 'image_in_use'],
  },
  'image.import': {
    method: 'POST',
    path: '/v1/images/import',
    tag,
    scope: write,
    summary: 'Make an image from a distribution',
    description: progress,
    body: ImageImport,
    status: 200,
    result: Progress,
    media: 'application/x-ndjson',
    errors,
  },
  'image.importTar': {
    method: 'POST',
    path: '/v1/images/import-tar',
    tag,
    scope: write,
    summary: 'Make an image from a tar',
    description: progress,
    query: ImportTarQuery,
    bodyStream: 'application/x-tar',
    status: 200,
    result: Progress,
    media: 'application/x-ndjson',
    errors,
  },
  'image.importOci': {
    method: 'POST',
    path: '/v1/images/import-oci',
    tag,
    scope: write,
    summary: 'Make an image of an OCI image',
    description: `The body is a tar of an OCI layout or a docker-save archive. Each layer becomes one of the node’s, once. ${progress}`,
    query: ImportOciQuery,
    bodyStream: 'application/x-tar',
    status: 200,
    result: Progress,
    media: 'application/x-ndjson',
    errors,
  },
});
