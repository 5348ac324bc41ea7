import type { WatchDirRequest } from '@vivarium/protocol/e2b/filesystem.ts';
import type { EnvdCall, RpcStream } from './envd-call.ts';
import { watchEvents } from './watch-event.ts';

/** `WatchDir`: a start event once nothing will be missed, then what happens, until the client leaves or its time is over. */
export async function watchDirectory(call: EnvdCall, request: WatchDirRequest, stream: RpcStream): Promise<void> {
  const events = await watchEvents(call, request, call.signal);
  stream.keepAlive({ keepalive: {} });
  await stream.send({ start: {} });
  try {
    for await (const filesystem of events) await stream.send({ filesystem });
  } catch (error) {
    // Ended from outside: the codec says why, or nobody listens.
    if (!call.signal.aborted) throw error;
  }
}
