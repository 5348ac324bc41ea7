import { rmSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import type { Source } from '../builder.ts';
import { LAYER_LIMITS } from '../limits.ts';
import type { Report } from '../progress.ts';
import { runTool } from '../tool.ts';
import { hostSources } from './apt-sources.ts';

export type Bootstrap = {
  suite: string;
  include: readonly string[];
  variant: 'minbase' | 'apt' | 'standard' | 'essential';
  /** A program that gets the finished tree's path as its argument (mmdebstrap's customize hook). */
  customize?: string;
  /** Paths dpkg leaves out (`path-exclude` patterns). */
  exclude?: readonly string[];
  mirror?: string;
};

/**
 * The source that is a fresh Debian (or derivative) made by mmdebstrap(1). It runs in mount and pid namespaces of its own: whatever
 * ends it, no mount and no process of it is left.
 */
export function bootstrapSource(bootstrap: Bootstrap, createdBy: string): Source {
  return {
    createdBy,
    impliedDirectories: false,
    fill: (root, scratch, report, signal) => run(bootstrap, root, scratch, report, signal),
  };
}

async function run(
  bootstrap: Bootstrap,
  root: string,
  scratch: string,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const deadline = AbortSignal.timeout(LAYER_LIMITS.bootstrapTimeoutMs);
  rmSync(root, { recursive: true });
  report('bootstrap', `${bootstrap.suite}: ${bootstrap.variant} and ${bootstrap.include.length} packages`);
  try {
    await runTool(
      'unshare',
      [
        '--mount',
        '--propagation',
        'private',
        '--pid',
        '--fork',
        '--kill-child',
        '--mount-proc',
        'mmdebstrap',
        ...args(bootstrap, root),
      ],
      {
        signal: AbortSignal.any([signal, deadline]),
        env: { TMPDIR: scratch, ...proxies() },
        package: 'mmdebstrap debian-archive-keyring',
        onStderr: stages(report),
      },
    );
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    if (deadline.aborted)
      throw new VivError(
        'import_failed',
        `mmdebstrap took longer than ${LAYER_LIMITS.bootstrapTimeoutMs / 60_000} minutes`,
      );
    if (thrown instanceof VivError && /failed to execute mmdebstrap/.test(String(thrown.details.output))) {
      throw new VivError('precondition_failed', 'mmdebstrap is not installed', {
        hint: 'apt-get install mmdebstrap debian-archive-keyring',
      });
    }
    throw thrown;
  }
}

function args(bootstrap: Bootstrap, root: string): string[] {
  const { suite, include, variant, customize, exclude = [], mirror } = bootstrap;
  return [
    '--mode=root',
    '--format=directory',
    `--variant=${variant}`,
    ...(include.length > 0 ? [`--include=${include.join(',')}`] : []),
    ...exclude.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
    ...(customize ? [`--customize-hook=${customize}`] : []),
    suite,
    root,
    ...(mirror ? [mirror] : hostSources(suite)),
  ];
}

/** mmdebstrap tells its stages in lines that begin with `I: `; it takes proxies from the environment. */
function stages(report: Report): (chunk: Buffer) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop()!.slice(-4096);
    for (const line of lines) {
      const stage = /^I: (.*)/.exec(line)?.[1];
      if (stage) report('bootstrap', stage.slice(0, 200));
    }
  };
}

function proxies(): Record<string, string> {
  const names = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
