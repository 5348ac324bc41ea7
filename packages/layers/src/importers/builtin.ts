import { fileURLToPath } from 'node:url';
import { ImageConfig } from '@vivarium/protocol';
import type { Source } from '../builder.ts';
import { bootstrapSource } from './debootstrap.ts';
import { builtinGraderTools } from './grader-tools.ts';

const SUITE = 'bookworm';
const PACKAGES = [
  'bash',
  'ca-certificates',
  'curl',
  'gcc',
  'git',
  // Any host name a sandbox is given resolves to itself; without it sudo complains where there is no DNS.
  'libnss-myhostname',
  'libc6-dev',
  'make',
  'procps',
  'python3',
  'python3-pytest',
  'python3-venv',
  'sudo',
];
/** What scripts written for E2B's template `base` find there besides; `ss` and `pgrep` are how its clients ask whether a server is up, `setfattr` notes metadata of files. */
const E2B_PACKAGES = [
  ...PACKAGES.filter((name) => name !== 'python3-pytest'),
  'attr',
  'bzip2',
  'file',
  'g++',
  'iproute2',
  'jq',
  'less',
  'netcat-openbsd',
  'nodejs',
  'openssh-client',
  'patch',
  'psmisc',
  'python3-pip',
  'rsync',
  'socat',
  'unzip',
  'wget',
  'xz-utils',
  'zip',
];
const EXCLUDED = ['/usr/share/man/*', '/usr/share/info/*', '/usr/share/doc/*', '/usr/share/locale/*'];

export type BuiltinSource = { source: Source; config: ImageConfig };
export type BuiltinName = 'base' | 'grader-tools' | 'e2b-base';

/** The recipes that ship with viv and make one layer. `mirror`: where packages come from instead of the host's own. */
export function builtinSource(name: BuiltinName, mirror: string | undefined): BuiltinSource {
  return BUILTINS[name](mirror);
}

const BUILTINS: Record<BuiltinName, (mirror: string | undefined) => BuiltinSource> = {
  base: builtinBase,
  'grader-tools': builtinGraderTools,
  'e2b-base': builtinE2bBase,
};

/** The image made on first use: Debian 12 with Python, git and a C compiler, and a user `user` (1000) who may use sudo. */
function builtinBase(mirror: string | undefined): BuiltinSource {
  return { source: debian('base', PACKAGES, mirror), config: ImageConfig.parse({ env: { LANG: 'C.UTF-8' } }) };
}

/** What E2B's clients expect of their template `base`: the same user, at home, and the programs that come with it. */
function builtinE2bBase(mirror: string | undefined): BuiltinSource {
  const config = { env: { LANG: 'C.UTF-8' }, user: 'user', cwd: '/home/user' };
  return { source: debian('e2b-base', E2B_PACKAGES, mirror), config: ImageConfig.parse(config) };
}

function debian(name: 'base' | 'e2b-base', include: readonly string[], mirror: string | undefined): Source {
  const customize = fileURLToPath(new URL(`../recipes/${name}.sh`, import.meta.url));
  const bootstrap = { suite: SUITE, variant: 'minbase' as const, include, exclude: EXCLUDED, customize };
  return bootstrapSource({ ...bootstrap, ...(mirror !== undefined && { mirror }) }, `builtin:${name}`);
}
