import { ImageConfig, type Progress, VivError } from '@vivarium/protocol';
import { ndjson } from './answer.ts';
import { parseJson } from './body.ts';
import { BodyChunks } from './body-chunks.ts';
import type { Handlers } from './call.ts';
import { check } from './issues.ts';

const failed = (error: VivError): Progress => ({ type: 'error', error: error.toBody().error });

export const imageHandlers: Handlers<'image'> = {
  'image.list': ({ edge, query }) => edge.images.list(query),
  'image.get': ({ edge, params }) => edge.images.get(params.name),
  'image.remove': ({ edge, params }) => edge.images.remove(params.name) as Promise<undefined>,
  'image.import': ({ edge, body, signal }) => ndjson(edge.images.import(body, signal), failed),
  'image.importTar': ({ edge, query, req, signal }) => {
    const request = { name: query.name, config: configOf(query.config), opaque: query.opaque };
    return ndjson(edge.images.importTar(request, new BodyChunks(req), signal), failed);
  },
  'image.importOci': ({ edge, query, req, signal }) => {
    const request = { name: query.name, ref: query.ref, config: configOf(query.config) };
    return ndjson(edge.images.importOci(request, new BodyChunks(req), signal), failed);
  },
};

function configOf(base64: string | undefined): ImageConfig {
  if (base64 === undefined) return check(ImageConfig, {});
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64))
    throw new VivError('invalid_argument', 'config is not base64', { details: { field: 'config' } });
  return check(ImageConfig, parseJson(Buffer.from(base64, 'base64').toString('utf8')), 'config');
}
