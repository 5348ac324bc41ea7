import { MUX_PROTOCOL } from '@vivarium/protocol/mux-frame.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { WebSocket as NodeSocket } from 'ws';

/** The little of a WebSocket that the connection needs, the same for every runtime. */
export type Socket = {
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
  /** May the process end while this socket is open? No-op where the runtime can't say. */
  keepAlive(on: boolean): void;
};

export type SocketEvents = {
  onText(text: string): void;
  onBinary(bytes: Uint8Array): void;
  /** Once, after the socket was open. */
  onClose(error: VivError): void;
};

/**
 * Opens a WebSocket to `url` (ws: or wss:). Node and Bun take the `ws` package where it is installed (it is faster and
 * carries the key in a header); browsers and Deno use their own and carry the key as a subprotocol, `vivarium.key.KEY`.
 */
export async function openSocket(url: string, apiKey: string | undefined, events: SocketEvents): Promise<Socket> {
  const NodeWebSocket = await nodeWebSocket();
  return NodeWebSocket ? openNode(NodeWebSocket, url, apiKey, events) : openStandard(url, apiKey, events);
}

type NodeConstructor = typeof NodeSocket;
let loaded: Promise<NodeConstructor | undefined> | undefined;

function nodeWebSocket(): Promise<NodeConstructor | undefined> {
  const inNode = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
  if (!inNode || 'Deno' in globalThis) return Promise.resolve(undefined);
  // A name in a variable keeps bundlers from pulling a Node package into a browser build.
  const name = 'ws';
  loaded ??= import(name).then(
    (module: { WebSocket: NodeConstructor }) => module.WebSocket,
    () => {
      if (globalThis.WebSocket === undefined)
        throw new VivError('precondition_failed', 'this runtime has no WebSocket', {
          hint: 'Install the npm package `ws`.',
        });
      return undefined;
    },
  );
  return loaded;
}

function openNode(
  NodeWebSocket: NodeConstructor,
  url: string,
  apiKey: string | undefined,
  events: SocketEvents,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const ws = new NodeWebSocket(url, MUX_PROTOCOL, {
      headers,
      perMessageDeflate: false,
      handshakeTimeout: 10_000,
      skipUTF8Validation: true,
    });
    let error = new VivError('connection_lost', `the connection to ${url} broke`);
    let opened = false;
    ws.on('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.length < 16 && chunks.push(chunk));
      response.on('close', () => reject(refusal(response.statusCode ?? 0, Buffer.concat(chunks).toString(), url)));
      response.on('error', () => {});
    });
    ws.on('open', () => {
      opened = true;
      resolve({
        send: (data) => ws.send(data),
        close: () => ws.terminate(),
        keepAlive: (on) => (on ? rawSocket(ws)?.ref() : rawSocket(ws)?.unref()),
      });
    });
    ws.on('message', (data: Buffer, isBinary: boolean) =>
      isBinary ? events.onBinary(data) : events.onText(data.toString()),
    );
    ws.on('error', (cause: NodeJS.ErrnoException) => {
      if (!opened)
        reject(new VivError('server_unreachable', `can't reach ${url} (${cause.code ?? cause.message})`, { cause }));
      else
        error = new VivError('connection_lost', `the connection to ${url} broke (${cause.code ?? cause.message})`, {
          cause,
        });
    });
    ws.on('close', (code, reason) => {
      if (!opened) return reject(error);
      if (code === 1008) error = new VivError('internal', `the server ended the connection: ${reason.toString()}`);
      events.onClose(error);
    });
  });
}

function rawSocket(ws: NodeSocket): { ref(): void; unref(): void } | undefined {
  return (ws as unknown as { _socket?: { ref(): void; unref(): void } })._socket;
}

function refusal(status: number, text: string, url: string): VivError {
  try {
    const body = JSON.parse(text) as { error?: unknown };
    if (body.error) return VivError.fromBody(body);
  } catch {
    // Not JSON: not our server.
  }
  return new VivError('server_unreachable', `${url} refused a WebSocket: HTTP ${status}`);
}

function openStandard(url: string, apiKey: string | undefined, events: SocketEvents): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const protocols = apiKey === undefined ? [MUX_PROTOCOL] : [MUX_PROTOCOL, `vivarium.key.${apiKey}`];
    const ws = new WebSocket(url, protocols);
    ws.binaryType = 'arraybuffer';
    let opened = false;
    ws.onopen = () => {
      opened = true;
      resolve({ send: (data) => ws.send(data), close: () => ws.close(), keepAlive: () => {} });
    };
    ws.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) =>
      typeof data === 'string' ? events.onText(data) : events.onBinary(new Uint8Array(data));
    ws.onclose = ({ code, reason }) => {
      // A browser hides why a handshake failed: it may as well be a refused key.
      if (!opened)
        return reject(
          new VivError('server_unreachable', `can't open a WebSocket to ${url}`, {
            hint: 'Is the node up, and is the API key right?',
          }),
        );
      events.onClose(
        code === 1008
          ? new VivError('internal', `the server ended the connection: ${reason}`)
          : new VivError('connection_lost', `the connection to ${url} broke`),
      );
    };
  });
}
