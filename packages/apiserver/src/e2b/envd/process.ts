import { VivError } from '@vivarium/protocol';
import {
  CloseStdinRequest,
  ConnectRequest,
  ListRequest,
  SendInputRequest,
  SendSignalRequest,
  StartRequest,
  StreamInputRequest,
  UpdateRequest,
} from '@vivarium/protocol/e2b/process.ts';
import { type RpcTable, streaming, unary, upload } from './envd-call.ts';
import { connectProcess, startProcess } from './process-events.ts';
import { closeStdin, sendInput, streamInput } from './process-input.ts';
import { liveProcess, processInfos } from './process-lookup.ts';
import { winSize } from './process-request.ts';
import { sendSignal } from './process-signal.ts';

/** Input travels in one message, in base64. */
const INPUT_BYTES_MAX = 32 * 1024 * 1024;

/** envd's service `process.Process`, over the commands of the sandbox: those that the native API started are there too. */
export const PROCESS_METHODS: RpcTable = {
  '/process.Process/Start': streaming(StartRequest, startProcess),
  '/process.Process/Connect': streaming(ConnectRequest, connectProcess),
  '/process.Process/List': unary(ListRequest, (call) => ({ processes: processInfos(call) })),
  '/process.Process/Update': unary(UpdateRequest, async (call, { process, pty }) => {
    const exec = liveProcess(call, process);
    if (!pty) return {};
    if (!exec.pty) throw new VivError('state_conflict', `process ${exec.pid} has no terminal whose size could change`);
    await call.context.edge.execs.resize(call.sandbox, exec.id, winSize(pty.size));
    return {};
  }),
  '/process.Process/SendInput': unary(SendInputRequest, sendInput, { maxBytes: INPUT_BYTES_MAX }),
  '/process.Process/StreamInput': upload(StreamInputRequest, streamInput, { maxBytes: INPUT_BYTES_MAX }),
  '/process.Process/CloseStdin': unary(CloseStdinRequest, closeStdin),
  '/process.Process/SendSignal': unary(SendSignalRequest, sendSignal),
};
