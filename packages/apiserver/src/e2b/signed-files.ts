import type { IncomingMessage } from 'node:http';
import { setImmediate as breathe, setTimeout as delay } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import type { E2bContext } from './context.ts';

/** Does the signature of a URL belong to this token? Whether it is still good is looked at later. */
export type SignedBy = (req: IncomingMessage, token: string) => boolean;

const PAGE = 500;
/** How often at most the list of tokens is read anew: a signature may be that of a sandbox that was just made. */
const FRESH_MS = 500;
/** Searches at once; more are turned down. */
const SEARCHES_MAX = 16;
/** Others get their turn after so many hashes. */
const BATCH = 64;
/** 32 bytes in base64 without padding. */
const SIGNATURE = /[?&]signature=v1_(?:[A-Za-z0-9+/]|%2[BF]){43}(?:&|$)/i;

/**
 * Finds the sandbox of a signed file URL that names none, by computing the signature with the token of each live sandbox. One search
 * costs a hash per sandbox.
 */
export class SignedFiles {
  readonly #context: E2bContext;
  readonly #signedBy: SignedBy;
  #tokens = new Map<string, string>();
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #searches = 0;

  constructor(context: E2bContext, signedBy: SignedBy) {
    this.#context = context;
    this.#signedBy = signedBy;
  }

  /** Id of the sandbox. Throws `unauthenticated` when it is nobody's, `too_many_requests`. */
  async find(req: IncomingMessage): Promise<string> {
    if (!SIGNATURE.test(req.url ?? ''))
      throw new VivError('unauthenticated', 'the URL names no sandbox, and has no signature that would');
    if (this.#searches >= SEARCHES_MAX)
      throw new VivError('too_many_requests', 'too many signatures are being checked');
    this.#searches++;
    try {
      const askedAtMs = performance.now();
      let id = await this.#search(req);
      while (id === undefined && this.#readAtMs < askedAtMs) {
        await this.#read();
        id = await this.#search(req);
      }
      if (id !== undefined) return id;
    } finally {
      this.#searches--;
    }
    throw new VivError('unauthenticated', 'invalid signature: it belongs to no sandbox that is here');
  }

  async #search(req: IncomingMessage): Promise<string | undefined> {
    let hashes = 0;
    for (const [id, token] of this.#tokens) {
      if (this.#signedBy(req, token)) return id;
      if (++hashes % BATCH === 0) await breathe();
    }
    return undefined;
  }

  /** One reading for all that wait. */
  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    await delay(Math.max(0, this.#readAtMs + FRESH_MS - performance.now()));
    const { sandboxes } = this.#context.edge;
    const begunAtMs = performance.now();
    const tokens = new Map<string, string>();
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = sandboxes.list({ states: ['running', 'paused'] }, { limit: PAGE, cursor });
      for (const { id } of page.items) tokens.set(id, sandboxes.token(id));
      cursor = page.nextCursor;
      await breathe();
    }
    this.#tokens = tokens;
    this.#readAtMs = begunAtMs;
  }
}
