import { posix } from 'node:path';
import { VivError, type WatchEvent } from '@vivarium/protocol';
import type { FilesystemEvent, WatchDirRequest } from '@vivarium/protocol/e2b/filesystem.ts';
import type { EnvdCall } from './envd-call.ts';
import { entryAt } from './filesystem-look.ts';
import { type Actor, actingFor, actorOf, resolvePath } from './filesystem-user.ts';

/** A name that something is renamed to is one that is created; `gone` is the end of the watched directory itself. */
const TYPES: Record<Exclude<WatchEvent['kind'], 'overflow'>, FilesystemEvent['type']> = {
  create: 'EVENT_TYPE_CREATE',
  modify: 'EVENT_TYPE_WRITE',
  remove: 'EVENT_TYPE_REMOVE',
  rename_from: 'EVENT_TYPE_RENAME',
  rename_to: 'EVENT_TYPE_CREATE',
  attributes: 'EVENT_TYPE_CHMOD',
  gone: 'EVENT_TYPE_REMOVE',
};
/** What these are about is there no more. */
const WITHOUT_ENTRY: ReadonlySet<FilesystemEvent['type']> = new Set(['EVENT_TYPE_REMOVE', 'EVENT_TYPE_RENAME']);

/** The events of a directory as E2B clients read them, from now on. Throws `path_not_found`, `not_directory`, and `file_error` when some were lost. */
export async function watchEvents(
  call: EnvdCall,
  request: WatchDirRequest,
  signal: AbortSignal,
): Promise<AsyncGenerator<FilesystemEvent>> {
  const actor = await actorOf(call);
  const path = resolvePath(request.path, actor);
  const how = { ...actingFor(actor), recursive: request.recursive };
  const events = await call.context.edge.files.watch(call.sandbox, Buffer.from(path), how, signal);
  return translated(call, actor, path, events, request.includeEntry);
}

async function* translated(
  call: EnvdCall,
  actor: Actor,
  path: string,
  events: AsyncIterable<WatchEvent>,
  includeEntry: boolean,
): AsyncGenerator<FilesystemEvent> {
  for await (const event of events) {
    if (event.kind === 'overflow')
      throw new VivError('file_error', `${path}: more happened than could be told; events were lost`);
    const type = TYPES[event.kind];
    const name = event.path === '' ? '.' : event.path;
    const entry = includeEntry && !WITHOUT_ENTRY.has(type) ? await entryNow(call, actor, posix.join(path, name)) : null;
    yield { name, type, ...(entry && { entry }) };
  }
}

/** Null when it is gone already. */
async function entryNow(call: EnvdCall, actor: Actor, path: string) {
  try {
    return await entryAt(call, actor, path);
  } catch (thrown) {
    const { code } = VivError.from(thrown);
    if (code === 'path_not_found' || code === 'not_directory') return null;
    throw thrown;
  }
}
