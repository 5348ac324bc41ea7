import type { Edge } from '@vivarium/edge/edge.ts';
import { ExecStart } from '@vivarium/protocol';

const READ = ['/bin/sh', '-c', 'cat /proc/net/tcp /proc/net/tcp6 2>/dev/null'];
/** State TCP_LISTEN, as include/net/tcp_states.h has it. */
const LISTEN = '0A';
const PORTS_MAX = 64;

/** The TCP ports that something in the sandbox listens on, in their order (proc_net_tcp.txt of the kernel). */
export async function listeningPorts(edge: Edge, sandbox: string): Promise<number[]> {
  const { stdoutB64 } = await edge.execs.run(sandbox, ExecStart.parse({ argv: READ, keepBytes: 1 << 20 }));
  const ports = Buffer.from(stdoutB64, 'base64')
    .toString('latin1')
    .split('\n')
    .flatMap((line) => {
      const match = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) /.exec(line);
      return match?.[2] === LISTEN ? [Number.parseInt(match[1]!, 16)] : [];
    });
  return [...new Set(ports)].sort((a, b) => a - b).slice(0, PORTS_MAX);
}
