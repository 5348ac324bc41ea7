import type { EnvdCall } from './envd-call.ts';

const DIRECTORY = '/run/e2b';
const REMEMBERED = 10_000;

/** Sandboxes that have their files, the newest last. A restart of the server forgets them: they are written again. */
const written = new Map<string, Promise<void>>();

/**
 * Programs read from these files where they run, beside the variables of the same names. They are written before a sandbox made over
 * this surface runs its first command: a fork or a snapshot of it has the files of the original until then.
 */
export function writeRunFiles(call: EnvdCall): Promise<void> {
  const { context, sandbox } = call;
  const known = written.get(sandbox);
  if (known) return known;
  const facts = context.store.sandboxes.get(sandbox);
  const files = facts ? { E2B_SANDBOX: 'true', E2B_SANDBOX_ID: sandbox, E2B_TEMPLATE_ID: facts.templateID } : {};
  const all = Object.entries(files).map(([name, text]) => write(call, `${DIRECTORY}/.${name}`, text));
  // A full disk must not keep a sandbox from running commands.
  const done = Promise.allSettled(all).then(() => {});
  if (written.size >= REMEMBERED) written.delete(written.keys().next().value!);
  written.set(sandbox, done);
  return done;
}

async function write({ context, sandbox }: EnvdCall, path: string, text: string): Promise<void> {
  const body = (async function* () {
    yield Buffer.from(text);
  })();
  const options = { user: 'root', mode: 0o644, append: false, exclusive: false, fsync: false };
  await context.edge.files.write(sandbox, Buffer.from(path), body, options);
}
