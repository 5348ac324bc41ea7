import { VivError, type Volume, VolumeCreate } from '@vivarium/protocol';
import { type E2bVolume, E2bVolumeCreate } from '@vivarium/protocol/e2b/volume.ts';
import { check } from '../../http/issues.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';

/** As many as one answer holds: clients of this route know no pages. */
const LIST_MAX = 1_000;

/** Making, listing, showing and removing volumes. Their files are in volume-content.ts. */
export const volumeRoutes: ControlRoute[] = [
  route('POST /volumes', { status: 201, body: E2bVolumeCreate, run: create }),
  route('GET /volumes', {
    status: 200,
    run: ({ edge, owner }) => {
      const all: E2bVolume[] = [];
      for (let cursor: string | undefined; ; ) {
        const { items, nextCursor } = edge.volumes.list({ limit: LIST_MAX, cursor }, owner.keyId);
        all.push(...items.map(({ id, name }) => ({ volumeID: id, name })));
        if (nextCursor === null) return all;
        cursor = nextCursor;
      }
    },
  }),
  route('GET /volumes/{volumeID}', {
    status: 200,
    run: (call) => view(call, call.edge.volumes.find(call.params.volumeID!, call.owner.keyId)),
  }),
  route('DELETE /volumes/{volumeID}', {
    status: 204,
    run: async ({ edge, owner, params }) => {
      await edge.volumes.remove(edge.volumes.find(params.volumeID!, owner.keyId).id);
      return undefined;
    },
  }),
];

async function create(call: ControlCall<{ name: string }>): Promise<E2bVolume> {
  const { edge, body, owner } = call;
  try {
    return view(call, await edge.volumes.create(check(VolumeCreate, { name: body.name }), owner));
  } catch (error) {
    // To E2B's clients a name that is taken is a bad argument (400).
    if (!(error instanceof VivError) || error.code !== 'volume_exists') throw error;
    throw new VivError('invalid_argument', error.message, { details: error.details });
  }
}

function view({ context, edge }: Pick<ControlCall, 'context' | 'edge'>, { id, name }: Volume): E2bVolume {
  const { domain } = context;
  return { volumeID: id, name, token: edge.volumes.token(id), ...(domain !== undefined && { domain }) };
}
