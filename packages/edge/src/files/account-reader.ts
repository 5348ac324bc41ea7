import type { Clock } from '@vivarium/core';
import { VivError } from '@vivarium/protocol';
import type { Cell } from '../cell/cell.ts';
import type { Accounts } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import { parseAccounts } from './accounts.ts';

/** How long what was read is good for: whoever misses a name asks for a fresh one. */
const GOOD_FOR_MS = 5_000;
const TABLE_BYTES_MAX = 1_048_576;

type Known = { accounts: Promise<Accounts>; readMs: number };

/** Reads who is who out of sandboxes, one reading per sandbox at a time. What is known goes with the sandbox. */
export class AccountReader {
  readonly #clock: Clock;
  readonly #known = new WeakMap<Box, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(box: Box, fresh: boolean): Promise<Accounts> {
    const now = this.#clock.monotonicMs();
    const known = this.#known.get(box);
    if (known && !fresh && now - known.readMs < GOOD_FOR_MS) return known.accounts;
    const accounts = readAccounts(box.requireCell());
    this.#known.set(box, { accounts, readMs: now });
    accounts.catch(() => this.#known.delete(box));
    return accounts;
  }
}

async function readAccounts(cell: Cell): Promise<Accounts> {
  const [passwd, group] = await Promise.all([table(cell, '/etc/passwd'), table(cell, '/etc/group')]);
  return parseAccounts(passwd, group);
}

/** What of it fits the limit. A sandbox without the file, or with something else in its place, has no such names. */
async function table(cell: Cell, path: string): Promise<string> {
  try {
    const { stream } = await cell.read(Buffer.from(path), { length: TABLE_BYTES_MAX });
    return Buffer.concat(await stream.toArray()).toString();
  } catch (thrown) {
    const { code } = VivError.from(thrown);
    if (code === 'path_not_found' || code === 'not_regular_file' || code === 'is_directory' || code === 'not_directory')
      return '';
    throw thrown;
  }
}
