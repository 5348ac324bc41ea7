import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer, type Server as TlsServer } from 'node:tls';
import { VivError } from '@vivarium/protocol';
import { listen } from './listen.ts';

/** PEM texts: the certificate with what signed it, and its key. */
export type TlsFiles = { cert: string; key: string };
/** `listen`: an address for encrypted connections alone. Default: that of the HTTP server, beside plain ones. */
export type TlsOptions = TlsFiles & { listen?: { host: string; port: number } | undefined };

/** The first byte of a TLS record that begins a handshake (RFC 8446, section 5.1); no HTTP request begins with it. */
const HANDSHAKE = 0x16;

/**
 * TLS before an HTTP server: what is inside an encrypted connection is served as the same server serves plain ones. HTTP/1.1 is all that is
 * agreed on. Throws `precondition_failed` for a certificate or key that OpenSSL does not take.
 */
export class TlsFront {
  readonly server: TlsServer;
  readonly #http: Server;
  readonly #options: TlsOptions;
  readonly #firstByteMs: number;
  /** What the HTTP server does with a connection. */
  readonly #serve: (socket: Socket) => void;

  constructor(http: Server, options: TlsOptions, firstByteMs: number) {
    const [serve] = http.listeners('connection');
    this.#http = http;
    this.#options = options;
    this.#firstByteMs = firstByteMs;
    this.#serve = (socket) => serve!.call(http, socket);
    this.server = usable(() =>
      createServer({ ...pem(options), ALPNProtocols: ['http/1.1'], handshakeTimeout: firstByteMs }),
    );
    this.server.on('secureConnection', this.#serve);
    this.server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** Takes connections. `httpPort`: where the HTTP server listens. Resolves with the port of HTTPS. */
  async open(httpPort: number): Promise<number> {
    const { listen: at } = this.#options;
    this.server.maxConnections = this.#http.maxConnections;
    if (at) return listen(this.server, at.host, at.port);
    this.#http.off('connection', this.#http.listeners('connection')[0] as () => void);
    this.#http.prependListener('connection', (socket: Socket) => this.#sort(socket));
    return httpPort;
  }

  /** For new connections from now on. Throws as the constructor does; the old certificate is used on then. */
  renew(files: TlsFiles): void {
    usable(() => this.server.setSecureContext(pem(files)));
  }

  /** The first byte tells encrypted connections from plain ones. */
  #sort(socket: Socket): void {
    const timer = setTimeout(() => socket.destroy(), this.#firstByteMs);
    const ignore = () => {};
    socket.on('error', ignore);
    socket.once('close', () => clearTimeout(timer));
    const leave = () => socket.destroy();
    socket.once('end', leave);
    socket.once('data', (first: Buffer) => {
      clearTimeout(timer);
      socket.off('error', ignore).off('end', leave);
      socket.pause();
      socket.unshift(first);
      if (first[0] === HANDSHAKE) this.server.emit('connection', socket);
      else this.#serve(socket);
      process.nextTick(() => socket.resume());
    });
  }
}

function usable<T>(make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const why = (cause as Error).message;
    throw new VivError('precondition_failed', `the certificate and its key can't be used: ${why}`, { cause });
  }
}

const pem = ({ cert, key }: TlsFiles) => ({ cert, key });
