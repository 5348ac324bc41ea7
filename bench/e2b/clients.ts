import { Sandbox } from 'e2b';
import type { E2bClient } from '../../test/harness/e2b.ts';
import { timed } from '../node/samples.ts';

const COUNT = 200;

/** So many sandboxes made, used and killed by this one process at once. Anything that is not as it should be counts. */
export async function clientsAtOnce(client: E2bClient): Promise<Record<string, number>> {
  const { ms, value: ends } = await timed(() => useMany(client, COUNT));
  for (const text of new Set(ends.errors.map(String))) process.stderr.write(`  ${text}\n`);
  return { clients_200_errors: ends.errors.length, clients_200_s: ms / 1000 };
}

/** Each writes a file, runs a command on it, reads what that wrote, and ends. */
export async function useMany({ connection }: E2bClient, count: number): Promise<{ errors: Error[] }> {
  const results = await Promise.allSettled(Array.from({ length: count }, (_, n) => useOne(connection, n)));
  return { errors: results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error) };
}

async function useOne(connection: E2bClient['connection'], n: number): Promise<void> {
  const sandbox = await Sandbox.create('base', connection);
  const kept = await use(sandbox, `number ${n}\n`).finally(() => sandbox.kill());
  if (!kept) throw new Error(`sandbox ${sandbox.sandboxId} does not hold what was written to it`);
}

async function use(sandbox: Sandbox, text: string): Promise<boolean> {
  await sandbox.files.write('in.txt', text);
  const { stdout } = await sandbox.commands.run('tee out.txt < in.txt');
  return stdout === text && (await sandbox.files.read('out.txt')) === text;
}
