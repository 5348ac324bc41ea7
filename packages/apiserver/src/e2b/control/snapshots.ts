import { createIdSource, systemClock, systemRandom } from '@vivarium/core';
import { type Key, VivError } from '@vivarium/protocol';
import { E2bSnapshotCreate, E2bSnapshotQuery } from '@vivarium/protocol/e2b/control.ts';
import { Answer, sendJson } from '../../http/answer.ts';
import type { E2bContext } from '../context.ts';
import { sandboxId } from '../routing.ts';
import type { SnapshotRow } from '../store/snapshot-table.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { live } from './live.ts';
import { factsOf } from './sandbox-view.ts';

const DEFAULT_TAG = 'default';
/** `name` or `name:tag`; a namespace before it is part of the name. */
const REFERENCE = /^([A-Za-z0-9][A-Za-z0-9._/-]{0,127})(?::([A-Za-z0-9][A-Za-z0-9._-]{0,63}))?$/;
const newId = createIdSource(systemClock, systemRandom);

/** Taking and listing snapshots. They are removed as templates are. */
export const snapshotRoutes: ControlRoute[] = [
  route('POST /sandboxes/{sandboxID}/snapshots', { status: 201, body: E2bSnapshotCreate, run: take }),
  route('GET /snapshots', {
    status: 200,
    query: E2bSnapshotQuery,
    run: ({ context, key, query }) => {
      const { name, tag } = query.name === undefined ? { name: null, tag: null } : reference(query.name);
      const sandbox = query.sandboxID === undefined ? null : sandboxId(query.sandboxID);
      const filter = { owner: seenBy(key), sandbox, name, tag };
      const rows = context.store.snapshots.list(filter, before(query.nextToken), query.limit + 1);
      const next = rows.length > query.limit ? String(rows[query.limit - 1]!.seq) : undefined;
      return new Answer((res) =>
        sendJson(res, 200, rows.slice(0, query.limit).map(view), next ? { 'x-next-token': next } : {}),
      );
    },
  }),
];

/** A snapshot that this key may use, by `id`, `name`, or one of them with `:tag`. */
export function findSnapshot({ store }: E2bContext, key: Key, text: string): SnapshotRow | undefined {
  const match = REFERENCE.exec(text);
  if (!match) return undefined;
  const [, name = '', tag = DEFAULT_TAG] = match;
  const rows = [...store.snapshots.byId(name), ...store.snapshots.byName(name)].filter((row) => isSeen(row, key));
  // A snapshot that has one tag only needs none.
  return rows.find((row) => row.tag === tag) ?? (match[2] === undefined ? rows[0] : undefined);
}

/**
 * The template under all snapshots that lie above it, by what a sandbox was made from and its image. Undefined: there is none, as they lie
 * upon one another.
 */
export function rootTemplate(
  { store }: Pick<E2bContext, 'store'>,
  template: string,
  image?: string,
): string | undefined {
  const seen = new Set<string>();
  for (let at = template; !seen.has(at); ) {
    seen.add(at);
    const rows = store.snapshots.byId(at);
    const row = rows.find((one) => one.image === image) ?? rows[0];
    if (!row) return at;
    at = row.template;
  }
  return undefined;
}

/** False: there is none. What runs from it runs on; its image goes with the last one. */
export async function removeSnapshot(context: E2bContext, key: Key, text: string): Promise<boolean> {
  const row = findSnapshot(context, key, text);
  if (!row) return false;
  context.store.snapshots.remove(row.id);
  await dropImages(context);
  return true;
}

/** Removes the images of removed snapshots that nothing uses any more. */
export async function dropImages({ store, edge }: Pick<E2bContext, 'store' | 'edge'>): Promise<void> {
  for (const image of store.snapshots.dropped()) {
    try {
      await edge.images.remove(image);
    } catch (error) {
      const { code } = VivError.from(error);
      if (code === 'image_in_use') continue;
      if (code !== 'image_not_found') throw error;
    }
    store.snapshots.gone(image);
  }
}

async function take(call: ControlCall<{ name?: string | null | undefined }>): Promise<object> {
  const { context, edge, key, owner, params, body } = call;
  const sandbox = live(edge, params.sandboxID!);
  const { name, tag } = body.name ? reference(body.name) : { name: null, tag: null };
  const earlier = name === null ? [] : context.store.snapshots.byName(name).filter((row) => row.owner === owner.keyId);
  const id = earlier[0]?.id ?? newId();
  const { snapshots } = context.store;
  // Versions of images never change: a snapshot that is taken again has another one.
  const image = `e2b/${id}@${newId()}`;
  const facts = factsOf(context, sandbox);
  const { user, templateID } = facts;
  // A snapshot of that name may be replaced by this one, and what is known of it with it.
  const template = rootTemplate(context, templateID, facts.image) ?? templateID;
  await edge.sandboxes.snapshot(sandbox.id, image);
  const replaced = snapshots.byId(id).find((row) => row.tag === (tag ?? DEFAULT_TAG));
  const row = { id, tag: tag ?? DEFAULT_TAG, name, owner: key.id, sandbox: sandbox.id, image, template, user };
  snapshots.put({ ...row, limits: sandbox.limits, createdAtMs: Date.now() });
  if (replaced) {
    snapshots.drop(replaced.image);
    await dropImages(context);
  }
  return view(row);
}

function view({ id, tag, name }: Pick<SnapshotRow, 'id' | 'tag' | 'name'>): { snapshotID: string; names: string[] } {
  const suffix = tag === DEFAULT_TAG ? '' : `:${tag}`;
  return { snapshotID: `${id}${suffix}`, names: name === null ? [] : [`${name}${suffix}`] };
}

function reference(text: string): { name: string; tag: string | null } {
  const match = REFERENCE.exec(text);
  if (!match)
    throw new VivError('invalid_argument', `"${text.slice(0, 200)}" is no name of a snapshot: NAME or NAME:TAG`);
  return { name: match[1]!, tag: match[2] ?? null };
}

const seenBy = (key: Key) => (key.scopes.includes('admin') ? null : key.id);
const isSeen = (row: SnapshotRow, key: Key) => key.scopes.includes('admin') || row.owner === key.id;

function before(token: string | undefined): number {
  if (token === undefined) return Number.MAX_SAFE_INTEGER;
  if (/^\d{1,15}$/.test(token)) return Number(token);
  throw new VivError('invalid_argument', `nextToken "${token.slice(0, 100)}" is not one of ours`);
}
