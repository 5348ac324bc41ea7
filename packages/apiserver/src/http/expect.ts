import type { IncomingMessage, ServerResponse } from 'node:http';

const waiting = new WeakSet<IncomingMessage>();

/** The client sent `Expect: 100-continue`: it holds its body back until it is asked for it. */
export function holdsBody(req: IncomingMessage): void {
  waiting.add(req);
}

/** Asks for the body, once; a request that is refused is never asked. */
export function askForBody(req: IncomingMessage, res: ServerResponse): void {
  if (waiting.delete(req)) res.writeContinue();
}
