import { type Entry, VivError } from '@vivarium/protocol';
import {
  CreateWatcherRequest,
  GetWatcherEventsRequest,
  ListDirRequest,
  MakeDirRequest,
  MoveRequest,
  RemoveRequest,
  RemoveWatcherRequest,
  StatRequest,
  WatchDirRequest,
} from '@vivarium/protocol/e2b/filesystem.ts';
import { LIST_ITEMS_MAX } from '@vivarium/protocol/routes.ts';
import { type EnvdCall, type RpcTable, streaming, unary } from './envd-call.ts';
import { entryAt, infoOf, infosOf } from './filesystem-look.ts';
import { actingFor, actorOf, resolvePath } from './filesystem-user.ts';
import { watchDirectory } from './watch-stream.ts';
import { createWatcher, removeWatcher, watcherEvents } from './watchers.ts';

/** envd's service `filesystem.Filesystem`, over the edge's files. */
export const FILESYSTEM_METHODS: RpcTable = {
  '/filesystem.Filesystem/Stat': unary(StatRequest, async (call, message) => {
    const actor = await actorOf(call);
    const path = resolvePath(message.path, actor);
    return { entry: await entryAt(call, actor, path) };
  }),
  '/filesystem.Filesystem/ListDir': unary(ListDirRequest, (call, { path, depth }) => listDirectory(call, path, depth)),
  '/filesystem.Filesystem/MakeDir': unary(MakeDirRequest, (call, { path }) => makeDirectory(call, path)),
  '/filesystem.Filesystem/Move': unary(MoveRequest, async (call, { source, destination }) => {
    const actor = await actorOf(call);
    const [from, to] = [resolvePath(source, actor), resolvePath(destination, actor)];
    const how = { ...actingFor(actor), overwrite: true, parents: true, resolve: true };
    const entry = await call.context.edge.files.move(call.sandbox, Buffer.from(from), Buffer.from(to), how);
    return { entry: await infoOf(call, actor, entry, to) };
  }),
  '/filesystem.Filesystem/Remove': unary(RemoveRequest, async (call, message) => {
    const actor = await actorOf(call);
    const how = { ...actingFor(actor), recursive: true, missingOk: true };
    await call.context.edge.files.remove(call.sandbox, Buffer.from(resolvePath(message.path, actor)), how);
    return {};
  }),
  '/filesystem.Filesystem/WatchDir': streaming(WatchDirRequest, watchDirectory),
  '/filesystem.Filesystem/CreateWatcher': unary(CreateWatcherRequest, createWatcher),
  '/filesystem.Filesystem/GetWatcherEvents': unary(GetWatcherEventsRequest, watcherEvents),
  '/filesystem.Filesystem/RemoveWatcher': unary(RemoveWatcherRequest, removeWatcher),
};

async function listDirectory(call: EnvdCall, asked: string, depth: number): Promise<object> {
  const actor = await actorOf(call);
  const path = resolvePath(asked, actor);
  const how = { ...actingFor(actor), depth: Math.min(depth, DEPTH_MAX), resolve: true, metadata: true };
  const entries: Entry[] = [];
  let chars = 0;
  for await (const entry of call.context.edge.files.list(call.sandbox, Buffer.from(path), how)) {
    if (entries.length === LIST_ITEMS_MAX)
      throw new VivError('payload_too_large', `${path} has more than ${LIST_ITEMS_MAX} entries`);
    chars += charsOf(entry);
    if (chars > LIST_CHARS_MAX)
      throw new VivError('payload_too_large', `${path}: the entries have more than ${LIST_CHARS_MAX} characters`);
    entries.push(entry);
  }
  return { entries: await infosOf(call, actor, inOrder(entries)) };
}

/** All are in memory at once, and paths and metadata are as long as the programs inside like. */
const LIST_CHARS_MAX = 32 * 1024 * 1024;

function charsOf({ path, target, metadata = {} }: Entry): number {
  const noted = Object.entries(metadata).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return path.length + (target?.length ?? 0) + noted;
}

/** The guest goes no deeper. */
const DEPTH_MAX = 64;

/** By name, what is in a directory right behind it. */
function inOrder(entries: Entry[]): Entry[] {
  const keyed = entries.map((entry) => ({ entry, key: entry.path.replaceAll('/', '\0') }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ entry }) => entry);
}

async function makeDirectory(call: EnvdCall, asked: string): Promise<object> {
  const actor = await actorOf(call);
  const path = resolvePath(asked, actor);
  const { files } = call.context.edge;
  const how = actingFor(actor);
  try {
    const entry = await files.mkdir(call.sandbox, Buffer.from(path), { ...how, parents: true, exclusive: true });
    return { entry: await infoOf(call, actor, entry, path) };
  } catch (thrown) {
    const error = VivError.from(thrown);
    if (error.code !== 'path_exists') throw error;
    const { type } = await files.stat(call.sandbox, Buffer.from(path), { ...how, follow: true });
    if (type === 'dir') throw new VivError('path_exists', `directory already exists: ${path}`);
    throw new VivError('invalid_argument', `path already exists but it is not a directory: ${path}`);
  }
}
