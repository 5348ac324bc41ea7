import { VivError } from '@vivarium/protocol';
import type { ListenOptions } from './cell-listener.ts';
import { FRAME, violation } from './frame.ts';
import { PORT_WINDOW } from './port-stream.ts';
import { eachTlv, fixed, TlvFrame } from './tlv.ts';

/** One end inside the sandbox. `host`: textual address, default 127.0.0.1. */
export type Endpoint =
  | { family: 'tcp'; port: number; host?: string | undefined }
  | { family: 'unix'; path: Uint8Array };

/** CONNECT (docs/guest-protocol.md, "CONNECT and LISTEN tags"). */
export function connectFrame(target: Endpoint, window: number, stream: number): Buffer {
  return endpoint(new TlvFrame(FRAME.CONNECT), target).u32(7, window).finish(stream);
}

export function listenFrame(target: Endpoint, options: ListenOptions, stream: number): Buffer {
  return endpoint(new TlvFrame(FRAME.LISTEN), target)
    .u32(5, options.mode)
    .u32(6, options.backlog)
    .u32(7, options.window ?? PORT_WINDOW)
    .bytes(8, options.tag?.length ? options.tag : undefined)
    .u32(9, options.maxConnections)
    .finish(stream);
}

/** OK of LISTEN: the port; 0 for unix. */
export function parseListening(payload: Buffer): number {
  let port = 0;
  eachTlv(payload, (tag, value) => {
    if (tag !== 1) throw violation(`tag ${tag} in OK of LISTEN`);
    port = fixed(value, 4).readUInt32LE(0);
  });
  if (port > 65_535) throw violation(`port ${port}`);
  return port;
}

function endpoint(frame: TlvFrame, target: Endpoint): TlvFrame {
  if (target.family === 'unix') return frame.u32(1, 2).text(4, target.path);
  if (!Number.isInteger(target.port) || target.port < 0 || target.port > 65_535) {
    throw new VivError('invalid_argument', `${target.port} is no port`);
  }
  return frame.u32(1, 1).text(2, target.host).u32(3, target.port);
}
