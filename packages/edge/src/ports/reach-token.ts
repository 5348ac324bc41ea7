import { createHmac } from 'node:crypto';

/**
 * What an endpoint is sent as `X-Vivarium-Token`: base64url of HMAC-SHA256 over `reach:<port>` with the sandbox's token as the key.
 * Whoever made the sandbox knows its token and can check it; the endpoint can't turn it back into the token, nor use it with another
 * endpoint or against the sandbox's ports.
 */
export function reachToken(sandboxToken: string, port: number): string {
  return createHmac('sha256', sandboxToken).update(`reach:${port}`).digest('base64url');
}
