/** Residue of one kind: what a pack leaves out unless it is told to keep it, and why. */
export type Rule = {
  name: string;
  reason: string;
  /** See GlobSet. */
  globs: readonly string[];
  /** Only files in whose first 64 KiB this is found. No nested repetitions: the text is the sandbox's. */
  contains?: RegExp;
  /** Only these. */
  type?: 'socket';
};

const HOMES = ['/root', '/home/*'];
const inHomes = (...paths: string[]) => HOMES.flatMap((home) => paths.map((path) => `${home}/${path}`));

/** Left out. The first rule that matches a path counts, so the ones about secrets come first. */
export const REMOVED: readonly Rule[] = [
  {
    name: 'credentials',
    reason: 'keys and passwords of whoever made it',
    globs: [
      ...inHomes('.netrc', '.git-credentials', '.config/git/credentials', '.aws', '.azure', '.config/gcloud', '.kube'),
      ...inHomes('.config/gh', '.config/rclone', '.gnupg', '.vault-token', '.databrickscfg', '.pgpass', '.my.cnf'),
      ...inHomes('.huggingface/token', '.cache/huggingface/token', '.cargo/credentials', '.cargo/credentials.toml'),
      ...inHomes('.ssh/id_*', '.claude/.credentials.json', '.codex/auth.json'),
    ],
  },
  {
    name: 'credentials',
    reason: 'keys and passwords of whoever made it',
    globs: [...inHomes('.docker/config.json', '.config/containers/auth.json'), '/run/containers/*/auth.json'],
    contains: /"auths?"\s{0,20}:/,
  },
  {
    name: 'credentials',
    reason: 'keys and passwords of whoever made it',
    globs: ['.npmrc', '.pypirc', '.yarnrc.yml'],
    contains: /_auth|password|npmAuthToken/i,
  },
  {
    name: 'identity',
    reason: 'must differ from machine to machine',
    globs: [
      '/etc/machine-id',
      '/var/lib/dbus/machine-id',
      '/etc/ssh/ssh_host_*_key',
      '/etc/ssh/ssh_host_*_key.pub',
      '/var/lib/systemd/random-seed',
      '/var/lib/urandom/random-seed',
    ],
  },
  {
    name: 'answers',
    reason: 'tests, solutions and logs of a grading',
    globs: ['/tests', '/solution', '/logs/**'],
  },
  {
    name: 'history',
    reason: 'what somebody typed',
    globs: [
      ...['.bash_history', '.ash_history', '.zsh_history', '.sh_history', '.python_history', '.node_repl_history'],
      ...[
        '.sqlite_history',
        '.psql_history',
        '.mysql_history',
        '.rediscli_history',
        '.lesshst',
        '.viminfo',
        '.wget-hsts',
      ],
    ],
  },
  {
    name: 'packages',
    reason: 'caches and lists of a package manager, fetched again when needed',
    globs: [
      '/var/cache/apt/**',
      '/var/lib/apt/lists/**',
      '/var/cache/debconf/*-old',
      '/var/lib/dpkg/*-old',
      '/var/cache/apk/**',
      '/var/cache/dnf/**',
      '/var/cache/yum/**',
      '/var/cache/pacman/pkg/**',
      ...inHomes('.npm/_cacache', '.npm/_logs', '.yarn/cache', '.cargo/registry/cache', '.conda/pkgs'),
      '/opt/*conda*/pkgs/*.conda',
      '/opt/*conda*/pkgs/*.tar.bz2',
    ],
  },
  {
    name: 'caches',
    reason: 'made again when needed',
    globs: [...inHomes('.cache'), '/var/cache/man/**', '/var/cache/ldconfig/**'],
  },
  {
    name: 'bytecode',
    reason: 'Python makes it again',
    globs: ['__pycache__', '*.pyc', '.pytest_cache', '.mypy_cache', '.ruff_cache', '.hypothesis'],
  },
  { name: 'logs', reason: 'what was logged while it was made', globs: ['/var/log/**'] },
  { name: 'temporary', reason: 'temporary files', globs: ['/tmp/**', '/var/tmp/**', '/run/**'] },
  { name: 'editor', reason: 'left by an editor', globs: ['.*.sw[po]', '*~', '.#*', '#*#', '.DS_Store'] },
  { name: 'sockets', reason: 'the process behind it is gone', globs: ['*'], type: 'socket' },
  { name: 'core', reason: 'memory of a crashed process', globs: ['core', 'core.[0-9]*'], contains: /^\x7fELF/ },
];

/** Reported, and left in: they may be what the work was about. */
export const SUSPICIOUS: readonly Rule[] = [
  {
    name: 'secrets',
    reason: 'often holds secrets',
    globs: [
      '.env',
      '.env.*',
      '*.pem',
      '*.p12',
      '*.pfx',
      '*.kdbx',
      'credentials.json',
      '.htpasswd',
      'id_rsa',
      'id_ed25519',
    ],
  },
  {
    name: 'secrets',
    reason: 'a URL with a password',
    globs: [
      '.git/config',
      '.gitconfig',
      'pip.conf',
      '.pip/pip.conf',
      '/etc/apt/sources.list',
      '/etc/apt/sources.list.d/*',
    ],
    contains: /:\/\/[^/\s:@]{0,200}:[^/\s@]{1,200}@/,
  },
];

/** How many bytes of a file a rule may look at. */
export const CONTAINS_BYTES = 65_536;
