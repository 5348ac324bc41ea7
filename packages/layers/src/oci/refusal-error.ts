import { VivError } from '@vivarium/protocol';
import { Refusal } from './refusal.ts';

/** What a worker or a reader refused, as the API says it; undefined for anything else. */
export function asVivError({ code, message }: { code: string; message: string }): VivError | undefined {
  if (code !== 'invalid_image' && code !== 'path_escapes') return undefined;
  return new VivError(code, `${message}; nothing was kept`);
}

/** Runs work that may refuse. */
export function refusing<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw thrown instanceof Refusal ? asVivError(thrown)! : thrown;
  }
}
