import { Sandbox as CodeSandbox } from '@e2b/code-interpreter';
import type { Sandbox } from 'e2b';
import type { E2bClient, E2bConnection } from '../../../harness/e2b.ts';

const HOUR_MS = 3_600_000;

/** What a check of one method works with. The sandboxes are shared: a check leaves them running and takes paths of its own. */
export type Bed = {
  readonly node: E2bClient;
  readonly connection: E2bConnection;
  /** Of the template `base`. */
  readonly sandbox: Sandbox;
  /** Of the template `code-interpreter-v1`. */
  code(): Promise<CodeSandbox>;
};

/** A bed on a node that runs; `close` ends the bed's sandboxes. */
export async function openBed(node: E2bClient): Promise<Bed & { close(): Promise<void> }> {
  const { connection } = node;
  const sandbox = await node.create({ timeoutMs: HOUR_MS });
  let code: Promise<CodeSandbox> | undefined;
  return {
    node,
    connection,
    sandbox,
    code: () => {
      code ??= CodeSandbox.create({ ...connection, timeoutMs: HOUR_MS });
      return code;
    },
    close: async () => {
      await sandbox.kill();
      await code?.then(
        (made) => made.kill(),
        () => {},
      );
    },
  };
}

/** Calls one method and looks at the value it gives; throws when the method does not do what it says. */
export type Check = (bed: Bed) => Promise<void>;

/** Method, as docs/e2b.md names it → its check. */
export type Checks = Record<string, Check>;

/** A name that no other check has. */
export function fresh(prefix: string): string {
  count += 1;
  return `${prefix}-${process.pid}-${count}`;
}
let count = 0;
