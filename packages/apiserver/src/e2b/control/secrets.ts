import { createIdSource, systemClock, systemRandom } from '@vivarium/core';
import { VivError } from '@vivarium/protocol';
import { type E2bSecret, E2bSecretCreate, E2bSecretQuery, E2bSecretUpdate } from '@vivarium/protocol/e2b/secret.ts';
import { Answer, sendJson } from '../../http/answer.ts';
import type { SecretRow } from '../store/secret-table.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';

/** Of one API key. */
const SECRETS_MAX = 1000;

const newId = createIdSource(systemClock, systemRandom);

/**
 * Secrets that E2B's egress proxy puts into requests on their way out. Sandboxes have no way out yet, so nothing could use a value: it
 * is checked and dropped, and what is kept are names, versions and metadata.
 */
export const secretRoutes: ControlRoute[] = [
  route('POST /secrets', {
    status: 201,
    body: E2bSecretCreate,
    run: ({ context, key, body }) => {
      const { secrets } = context.store;
      if (secrets.list(key.id, Number.MAX_SAFE_INTEGER, SECRETS_MAX).length === SECRETS_MAX)
        throw new VivError('quota_exceeded', `this key has ${SECRETS_MAX} secrets, the most there can be`);
      const row = { id: `sec_${newId()}`, name: body.name, owner: key.id, metadata: body.metadata ?? {} };
      if (!secrets.add(row, Date.now())) throw new VivError('secret_exists', `there is a secret '${body.name}'`);
      return view(secrets.find(key.id, row.id)!);
    },
  }),
  route('GET /secrets', {
    status: 200,
    query: E2bSecretQuery,
    run: ({ context, key, query }) => {
      const before = query.nextToken === undefined ? Number.MAX_SAFE_INTEGER : Number(query.nextToken);
      const rows = context.store.secrets.list(key.id, before, query.limit + 1);
      const page = rows.slice(0, query.limit);
      const next: Record<string, string> =
        rows.length > page.length ? { 'x-next-token': String(page.at(-1)!.seq) } : {};
      return new Answer((res) => sendJson(res, 200, page.map(view), next));
    },
  }),
  route('GET /secrets/{secretID}', { status: 200, run: (call) => view(found(call)) }),
  route('POST /secrets/{secretID}', {
    status: 200,
    body: E2bSecretUpdate,
    run: (call) => {
      const { id, metadata } = found(call);
      call.context.store.secrets.update(id, call.body.metadata ?? metadata, Date.now());
      return view(found(call));
    },
  }),
  route('DELETE /secrets/{secretID}', {
    status: 204,
    run: (call) => {
      call.context.store.secrets.remove(found(call).id);
      return undefined;
    },
  }),
];

/** By id or name, of this key. */
function found({ context, key, params }: Pick<ControlCall, 'context' | 'key' | 'params'>): SecretRow {
  const text = params.secretID!;
  const row = context.store.secrets.find(key.id, text) ?? context.store.secrets.find(key.id, text.toLowerCase());
  if (row) return row;
  throw new VivError('secret_not_found', `secret '${text.slice(0, 200)}' not found`);
}

function view({ id, name, version, metadata, createdAtMs, updatedAtMs }: SecretRow): E2bSecret {
  return {
    secretID: id,
    name,
    currentVersion: version,
    metadata,
    createdAt: new Date(createdAtMs).toISOString(),
    updatedAt: new Date(updatedAtMs).toISOString(),
  };
}
