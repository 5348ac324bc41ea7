import { posix } from 'node:path';
import type { Instruction } from '../dockerfile/instruction.ts';
import { jsonWords } from '../dockerfile/words.ts';
import { selectionDigest } from '../files/selection.ts';
import { HEREDOC_PATH, type RunAction, type RunMount } from '../workshop.ts';
import { type BuildArgs, PROXY_ARGS } from './arguments.ts';
import { type Planned, select } from './copying.ts';
import { Flags } from './flags.ts';
import { mountFields } from './mounts.ts';
import type { Origins } from './origins.ts';
import type { StageState } from './stage-state.ts';

const MOUNTS_MAX = 64;

/** RUN in shell, exec and here-document form, with its mounts. Throws `dockerfile_invalid`. */
export async function planRun(
  state: StageState,
  at: Instruction,
  origins: Origins,
  { args, network }: { args: BuildArgs; network: 'none' | 'node' },
): Promise<Planned<RunAction>> {
  const flags = new Flags(state, at, ['mount', 'network', 'security'], ['mount']);
  if ((flags.get('security') ?? 'sandbox') !== 'sandbox')
    throw state.complain(at, '--security=insecure: no step of a build is privileged', 'Leave the flag out.');
  const { argv, script } = programOf(state, at);
  if (flags.all('mount').length > MOUNTS_MAX) throw state.complain(at, `more than ${MOUNTS_MAX} mounts`);
  const planned = await Promise.all(flags.all('mount').map((text) => planMount(state, at, origins, text)));
  const env = { ...Object.fromEntries(state.args), ...state.config.env };
  const action: RunAction = {
    type: 'run',
    argv,
    script,
    env: { ...args.proxies(), ...env },
    cwd: state.config.cwd ?? '/',
    user: state.config.user ?? null,
    network: networkOf(state, at, flags.get('network'), network),
    mounts: planned.map(({ mount }) => mount),
  };
  const keyed = Object.entries(env)
    .filter(([name]) => !PROXY_ARGS.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const depends = [
    'run',
    argv,
    script,
    keyed,
    action.cwd,
    action.user,
    action.network,
    planned.map((each) => each.depends),
  ];
  return { action, depends };
}

function networkOf(state: StageState, at: Instruction, flag: string | undefined, network: 'none' | 'node') {
  if (flag === undefined || flag === 'default') return network;
  if (flag === 'none') return 'none' as const;
  if (flag !== 'host') throw state.complain(at, `--network=${flag}: it is default, none or host`);
  if (network === 'node') return network;
  throw state.complain(at, '--network=host: this build has no network', 'Build with `--network node`.');
}

/** What is started, and the content of a script that a here-document brings. */
function programOf(state: StageState, at: Instruction): { argv: string[]; script: string | null } {
  const [first] = at.heredocs;
  if (!first) {
    const json = jsonWords(at.rest);
    if (json?.length === 0) throw state.complain(at, 'the JSON form names no program');
    return { argv: json ?? [...state.shell, at.rest], script: null };
  }
  const alone = at.heredocs.length === 1 && /^\d*<<-?\S+$/.test(at.rest);
  if (alone && first.content.startsWith('#!')) {
    const [program, ...argument] = first.content
      .slice(2, first.content.indexOf('\n'))
      .trim()
      .split(/\s+(.*)/s)
      .filter(Boolean);
    if (program === undefined) throw state.complain(at, 'the first line of the here-document names no program');
    return { argv: [program, ...argument, HEREDOC_PATH], script: first.content };
  }
  if (alone) return { argv: [...state.shell, first.content], script: null };
  // The shell reads the here-documents itself.
  const documents = at.heredocs.map(({ name, content }) => `${content}${name}\n`);
  return { argv: [...state.shell, `${at.rest}\n${documents.join('')}`], script: null };
}

async function planMount(
  state: StageState,
  at: Instruction,
  origins: Origins,
  text: string,
): Promise<{ mount: RunMount; depends: unknown }> {
  const fields = mountFields(text);
  const type = fields.get('type') ?? 'bind';
  if (type === 'secret' || type === 'ssh')
    throw state.complain(
      at,
      `--mount=type=${type} is refused: builds are given no secrets`,
      'Put what it needs into the build context, or fetch it before the build.',
    );
  const target = fields.get('target');
  if (!['bind', 'cache', 'tmpfs'].includes(type) || !target)
    throw state.complain(at, `--mount=${text}: it takes type=bind, cache or tmpfs, and target=PATH`);
  const at0 = posix.resolve(state.config.cwd ?? '/', target);
  if (at0 === '/') throw state.complain(at, `--mount=${text}: the target can't be /`);
  const owner = `${fields.get('uid') ?? 0}:${fields.get('gid') ?? 0}`;
  const mode = fields.get('mode');
  if (!/^\d{1,10}:\d{1,10}$/.test(owner) || (mode !== undefined && !/^[0-7]{1,4}$/.test(mode)))
    throw state.complain(at, `--mount=${text}: uid and gid are numbers, mode is octal`);
  const mount: RunMount = { target: at0, mode: Number.parseInt(mode ?? '755', 8), owner, sources: null };
  if (type !== 'bind') return { mount, depends: [type, at0, owner, mode] };
  const source = fields.get('source') ?? '/';
  const from = fields.get('from');
  if (from !== undefined) {
    const { base, tree } = await origins.image(from, at, [source]);
    mount.sources = async () => select(await tree(), [source], {}, `--mount=from=${from}`);
    return { mount, depends: ['bind-from', base.layers, source, at0] };
  }
  const sources = select(origins.context, [source], {}, 'the build context', origins.ignored);
  mount.sources = async () => sources;
  return { mount, depends: ['bind', selectionDigest(sources), at0] };
}
