import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Sandbox, VivError } from '@vivarium/sdk';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { note, printLine } from '../console.ts';
import { untilInterrupted, withSandbox } from '../one.ts';

type Flags = ConnectionOptions & { address: string; json?: boolean };
type Mapping = { local: number; remote: number };

/** Connections of one local port at once. */
const CONNECTIONS_MAX = 1024;

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .argument('<ports...>', 'LOCAL:REMOTE, or PORT for both (LOCAL 0: any free one)')
    .option('--address <address>', 'local address to listen on', '127.0.0.1')
    .option('--json', 'a line of JSON per port once it listens')
    .action((word: string, ports: string[], flags: Flags) => {
      const mappings = ports.map(parseMapping);
      return withSandbox(word, flags, async (sandbox) => {
        await sandbox.refresh();
        const servers = await Promise.all(mappings.map((mapping) => listen(sandbox, mapping, flags)));
        const stop = untilInterrupted();
        if (!stop.aborted) await once(stop, 'abort');
        for (const server of servers) server.close();
      });
    });
}

export function parseMapping(text: string): Mapping {
  const match = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text);
  const remote = Number(match?.[2]);
  const local = Number(match?.[1] ?? match?.[2]);
  if (!match || remote < 1 || remote > 65_535 || local > 65_535)
    throw bad(`no port mapping: ${text}`, 'Write LOCAL:REMOTE, as 8080:80.');
  return { local, remote };
}

async function listen(sandbox: Sandbox, { local, remote }: Mapping, flags: Flags) {
  const server = createServer(
    { allowHalfOpen: true, noDelay: true },
    (socket) => void forward(sandbox, remote, socket),
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(local, flags.address);
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new VivError('precondition_failed', `can't listen on ${flags.address}:${local} (${error.code})`, {
      hint: 'Pick another local port.',
    });
  });
  const { port } = server.address() as AddressInfo;
  if (flags.json) printLine({ address: flags.address, local: port, remote });
  else note(`viv: ${flags.address}:${port} → ${sandbox.id}:${remote}`);
  return server;
}

/** One connection, both ways; each direction ends by itself, an error ends both. */
export async function forward(sandbox: Sandbox, remote: number, socket: Socket): Promise<void> {
  socket.on('error', () => {});
  try {
    const connection = await sandbox.ports.connect(remote);
    socket.on('close', () => connection.close());
    const up = async () => {
      for await (const chunk of socket) await connection.write(chunk as Buffer);
      await connection.end();
    };
    const down = async () => {
      for await (const chunk of connection) {
        if (!socket.write(chunk) && !socket.destroyed)
          await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
      }
      socket.end();
    };
    await Promise.all([up(), down()]);
  } catch (error) {
    if (error instanceof VivError && error.code !== 'exec_not_running') note(`viv: port ${remote}: ${error.message}`);
    socket.destroy();
  }
}
