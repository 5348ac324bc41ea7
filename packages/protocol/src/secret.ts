/** What every secret of an API key looks like. E2B's clients insist on a prefix of their own: both forms are the same key. */
export const SECRET_PATTERN = /^(?:viv|e2b)_[0-9a-f]{40}$/;

/** The form that is stored (as a hash) and shown. */
export function nativeSecret(secret: string): string {
  return secret.replace(/^e2b_/, 'viv_');
}

/** The form that E2B's clients take. */
export function e2bSecret(secret: string): string {
  return secret.replace(/^viv_/, 'e2b_');
}
