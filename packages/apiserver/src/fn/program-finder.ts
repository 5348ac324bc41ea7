import type { Edge, FnCall, Owner } from '@vivarium/edge/edge.ts';
import type { ExecResult, Image, Limits } from '@vivarium/protocol';

/** Images whose programs are remembered. */
const IMAGES_MAX = 256;
const LOOK_MS = 10_000;
/** Says which of its arguments are programs. */
const LOOK = 'for p do command -v "$p" >/dev/null 2>&1 && echo "$p"; done; :';

/** Which programs images have. Images never change, so each is looked into once. */
export class ProgramFinder {
  readonly #known = new Map<string, Promise<ReadonlySet<string>>>();

  /** Those of `wanted` that the image has in the PATH of its programs. Takes a call, the first time. */
  async find(edge: Edge, image: Image, wanted: readonly string[], owner: Owner, limits: Limits): Promise<Set<string>> {
    const key = JSON.stringify([image.digest, wanted]);
    const looking = this.#known.get(key) ?? look(edge, image, wanted, owner, limits);
    this.#remember(key, looking);
    const found = await looking.catch((error: unknown) => {
      this.#known.delete(key);
      throw error;
    });
    return new Set(found);
  }

  #remember(key: string, looking: Promise<ReadonlySet<string>>): void {
    this.#known.delete(key);
    this.#known.set(key, looking);
    for (const oldest of this.#known.keys()) if (this.#known.size > IMAGES_MAX) this.#known.delete(oldest);
  }
}

/** True when execve found no such program; one that ran and ended with 127 has no message. */
export function isMissing({ exitCode, message }: ExecResult): boolean {
  return exitCode === 127 && message !== null;
}

async function look(
  edge: Edge,
  image: Image,
  wanted: readonly string[],
  owner: Owner,
  limits: Limits,
): Promise<ReadonlySet<string>> {
  const run = async (argv: string[]) => (await edge.fn.run(lookCall(image.name, limits, argv), owner)).run;
  const asked = await run(['/bin/sh', '-c', LOOK, 'sh', ...wanted]);
  if (asked && asked.exitCode === 0)
    return new Set(Buffer.from(asked.stdoutB64, 'base64').toString('utf8').split('\n').filter(Boolean));
  // An image without a shell: whether a program can be started shows by starting it.
  const found = new Set<string>();
  for (const program of wanted) {
    const tried = await run([program, '--version']);
    if (tried && !isMissing(tried)) found.add(program);
  }
  return found;
}

function lookCall(image: string, limits: Limits, argv: string[]): FnCall {
  return {
    image,
    limits,
    files: [],
    run: { argv, timeoutMs: LOOK_MS },
    env: {},
    cwd: '/',
    filesOut: [],
    filesOutBytesMax: 0,
    filesOutMax: 0,
    keepBytes: 65_536,
    label: 'which languages there are',
  };
}
