import type { MuxOp } from '@vivarium/protocol';
import { VivError } from '@vivarium/protocol';
import { idempotencyOf } from '../http/identity.ts';
import { pathBytes } from '../http/path.ts';
import type { Channel, Wire } from './channel.ts';
import { ExecChannel } from './exec-channel.ts';
import { FeedChannel } from './feed-channel.ts';
import { listenerChannel } from './listener-channel.ts';
import { PortChannel } from './port-channel.ts';
import { SimpleChannel } from './simple-channel.ts';

/** Starts what a checked `open` asks for. What goes wrong later ends the channel; a contradiction in the request throws here. */
export function openChannel(wire: Wire, ch: number, op: MuxOp): Channel {
  const { edge, key, owner } = wire;
  switch (op.op) {
    case 'exec.start': {
      const idempotency = idempotencyOf(op.idempotencyKey, key, 'exec.run', op.sandbox, op.exec);
      return new ExecChannel(wire, ch, {
        sandbox: op.sandbox,
        stdin: op.stdinStream,
        begin: (options) => edge.execs.start(op.sandbox, op.exec, options, idempotency),
      });
    }
    case 'exec.attach': {
      const { stdoutOffset, stderrOffset } = op;
      return new ExecChannel(wire, ch, {
        sandbox: op.sandbox,
        stdin: op.stdinStream,
        begin: (options) => edge.execs.attach(op.sandbox, op.exec, { ...options, stdoutOffset, stderrOffset }),
      });
    }
    case 'file.watch': {
      const path = pathBytes(op.path, op.pathB64);
      return new FeedChannel(wire, ch, {
        begin: async (signal) => ({
          result: {},
          items: await edge.files.watch(op.sandbox, path, { recursive: op.recursive }, signal),
        }),
      });
    }
    case 'port.connect':
      return new PortChannel(wire, ch, edge.ports.connect(op.sandbox, target(op)), true);
    case 'port.listen':
      return listenerChannel(wire, ch, { sandbox: op.sandbox, target: target(op) });
    case 'lease.hold':
      return new SimpleChannel(wire, ch, async () => {
        const { lease, release } = edge.leases.hold(op.lease);
        return { result: lease, release };
      });
    case 'logs.follow':
      return new FeedChannel(wire, ch, {
        begin: async (signal) => {
          edge.sandboxes.get(op.sandbox);
          return { result: {}, items: edge.sandboxes.followLogs(op.sandbox, op.after, signal) };
        },
      });
    case 'events':
      return new FeedChannel(wire, ch, {
        begin: async (signal) => {
          const filter = {
            ...(op.sandbox !== undefined && { id: op.sandbox }),
            ...(op.label !== undefined && { label: op.label }),
          };
          return { result: {}, items: lifecycle(edge.sandboxes.events(filter, signal)) };
        },
      });
    case 'sandbox.create': {
      const idempotency = idempotencyOf(op.idempotencyKey, key, 'sandbox.create', '', op.create);
      return new SimpleChannel(wire, ch, async () => {
        const sandbox = await edge.sandboxes.create(op.create, owner, idempotency);
        const result = { ...sandbox, token: edge.sandboxes.token(sandbox.id) };
        return idempotency ? { result } : { result, unwanted: () => edge.sandboxes.kill(sandbox.id) };
      });
    }
  }
}

function target({
  port,
  unixPath,
}: {
  port?: number | undefined;
  unixPath?: string | undefined;
}): { port: number } | { unixPath: string } {
  if ((port === undefined) === (unixPath === undefined)) {
    throw new VivError('invalid_argument', 'exactly one of port and unixPath must be given', {
      details: { field: 'port' },
    });
  }
  return port !== undefined ? { port } : { unixPath: unixPath! };
}

async function* lifecycle(sandboxes: AsyncIterable<import('@vivarium/protocol').Sandbox>) {
  for await (const sandbox of sandboxes) yield { type: 'sandbox', sandbox };
}
