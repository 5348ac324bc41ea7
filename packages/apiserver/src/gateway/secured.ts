import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { VivError } from '@vivarium/protocol';

const HANDSHAKE_MS = 10_000;

/**
 * TLS over a connection to a program inside. Its certificate proves nothing and is not looked at: who answers is known, for the stream leads
 * into that sandbox. Throws `port_closed`.
 */
export function secured(plain: Duplex, port: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ socket: plain, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    const timer = setTimeout(() => fail(), HANDSHAKE_MS);
    const fail = (cause?: Error) => {
      clearTimeout(timer);
      plain.destroy();
      socket.destroy();
      reject(new VivError('port_closed', `port ${port} inside does not speak TLS`, { details: { port }, cause }));
    };
    socket.once('error', fail);
    socket.once('close', () => plain.destroy());
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      socket.on('error', () => {});
      resolve(socket);
    });
  });
}
