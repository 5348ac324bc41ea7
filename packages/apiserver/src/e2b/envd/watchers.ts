import { randomBytes } from 'node:crypto';
import { VivError } from '@vivarium/protocol';
import type { FilesystemEvent, WatchDirRequest } from '@vivarium/protocol/e2b/filesystem.ts';
import type { E2bContext } from '../context.ts';
import { reachable } from '../wake.ts';
import type { EnvdCall } from './envd-call.ts';
import { watchEvents } from './watch-event.ts';

const PER_SANDBOX_MAX = 64;
const ALL_MAX = 4096;
const EVENTS_MAX = 10_000;
/** Of all watchers together. */
const EVENTS_ALL_MAX = 1_000_000;
/** One that nobody asks for events ends. */
const IDLE_MS = 3_600_000;

type Watcher = {
  sandbox: string;
  events: FilesystemEvent[];
  /** Why there will be no more; told once the events before it were. */
  error: VivError | undefined;
  controller: AbortController;
  idle: NodeJS.Timeout;
};

/** Watchers that are asked for what happened, by id. A restart of the server forgets them. */
const watchers = new Map<string, Watcher>();
let waiting = 0;

/** `CreateWatcher`. Throws `too_many_requests` over the limits. */
export async function createWatcher(call: EnvdCall, request: WatchDirRequest): Promise<{ watcherId: string }> {
  const ofSandbox = [...watchers.values()].filter(({ sandbox }) => sandbox === call.sandbox).length;
  if (ofSandbox >= PER_SANDBOX_MAX)
    throw new VivError('too_many_requests', `sandbox ${call.sandbox} has ${PER_SANDBOX_MAX} watchers already`);
  if (watchers.size >= ALL_MAX) throw new VivError('too_many_requests', `there are ${ALL_MAX} watchers already`);
  const id = `w${randomBytes(10).toString('hex')}`;
  const controller = new AbortController();
  const idle = setTimeout(() => end(id), IDLE_MS);
  idle.unref();
  const watcher: Watcher = { sandbox: call.sandbox, events: [], error: undefined, controller, idle };
  watchers.set(id, watcher);
  try {
    void gather(call, id, watcher, await watchEvents(call, request, controller.signal));
    return { watcherId: id };
  } catch (error) {
    end(id);
    throw error;
  }
}

/** `GetWatcherEvents`: what happened since the last time. */
export function watcherEvents(call: EnvdCall, { watcherId }: { watcherId: string }): { events: FilesystemEvent[] } {
  const watcher = find(call, watcherId);
  watcher.idle.refresh();
  const { events, error } = watcher;
  if (error && events.length === 0) throw error;
  waiting -= events.length;
  watcher.events = [];
  return { events };
}

/** `RemoveWatcher`. */
export function removeWatcher(call: EnvdCall, { watcherId }: { watcherId: string }): object {
  find(call, watcherId);
  end(watcherId);
  return {};
}

async function gather(
  { context }: EnvdCall,
  id: string,
  watcher: Watcher,
  events: AsyncIterable<FilesystemEvent>,
): Promise<void> {
  try {
    for await (const event of events) {
      if (watcher.controller.signal.aborted) return;
      if (watcher.events.length >= EVENTS_MAX || waiting >= EVENTS_ALL_MAX)
        throw new VivError('file_error', `more than ${EVENTS_MAX} events waited to be asked for; later ones were lost`);
      watcher.events.push(event);
      waiting += 1;
    }
  } catch (thrown) {
    watcher.error = VivError.from(thrown);
    // Nobody will ask it: its sandbox is gone, or has a new start before it.
    if (isOver(context, watcher.sandbox)) end(id);
  }
}

function isOver(context: E2bContext, sandbox: string): boolean {
  try {
    return reachable(context, sandbox) === undefined;
  } catch {
    return false;
  }
}

function find({ sandbox }: EnvdCall, id: string): Watcher {
  const watcher = watchers.get(id);
  if (watcher?.sandbox === sandbox) return watcher;
  throw new VivError('path_not_found', `watcher with id ${id} not found`);
}

function end(id: string): void {
  const watcher = watchers.get(id);
  if (!watcher) return;
  watchers.delete(id);
  waiting -= watcher.events.length;
  watcher.events = [];
  clearTimeout(watcher.idle);
  watcher.controller.abort();
}
