import type { IncomingMessage } from 'node:http';
import { authenticate, presentedSecret } from '../auth/authenticate.ts';
import { Answer } from './answer.ts';
import type { Handlers } from './call.ts';

export const nodeHandlers: Handlers<'node'> = {
  'node.get': ({ edge }) => edge.info.node(),
  'node.usage': async ({ edge, key }) => {
    const { sandboxes, execs, memory, disk } = await edge.info.node();
    const { id, name, scopes, maxSandboxes } = key;
    const { totalBytes, availableBytes } = memory;
    return { key: { id, name, scopes, maxSandboxes }, sandboxes, execs, memory: { totalBytes, availableBytes }, disk };
  },
  'node.health': () => ({ status: 'ok' as const }),
  'node.metrics': async ({ req, keys, metrics }) => {
    if (!isLocal(req)) authenticate(keys, presentedSecret(req.headers));
    return text(await metrics(), 'text/plain; version=0.0.4; charset=utf-8');
  },
  'node.openapi': ({ openapi }) => text(openapi(), 'application/json') as never,
};

function text(body: string, type: string): Answer {
  return new Answer((res) => {
    res.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
    res.end(body);
  });
}

/** A request that came through a proxy on this machine is not local. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const loopback = /^(127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
  return loopback && headers['x-forwarded-for'] === undefined && headers.forwarded === undefined;
}
