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
/** Their characters: paths and metadata are as long as the programs inside like. The same of all watchers together. */
const CHARS_MAX = 16 * 1024 * 1024;
const CHARS_ALL_MAX = 256 * 1024 * 1024;
/** One that nobody asks for events ends. */
const IDLE_MS = 3_600_000;

type Watcher = {
  sandbox: string;
  events: FilesystemEvent[];
  chars: number;
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
  const watcher: Watcher = { sandbox: call.sandbox, events: [], chars: 0, error: undefined, controller, idle };
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
  forget(watcher);
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
      const chars = JSON.stringify(event).length;
      const full = watcher.events.length >= EVENTS_MAX || watcher.chars + chars > CHARS_MAX;
      if (full || waiting + chars > CHARS_ALL_MAX)
        throw new VivError(
          'file_error',
          `more than ${EVENTS_MAX} events, or ${full ? CHARS_MAX : CHARS_ALL_MAX} characters of them, waited to be asked for; later ones were lost`,
        );
      watcher.events.push(event);
      watcher.chars += chars;
      waiting += chars;
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
  forget(watcher);
  clearTimeout(watcher.idle);
  watcher.controller.abort();
}

function forget(watcher: Watcher): void {
  waiting -= watcher.chars;
  watcher.chars = 0;
  watcher.events = [];
}
