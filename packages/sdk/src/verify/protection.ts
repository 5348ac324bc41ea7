/** What a Python of the system looks for beside itself before it looks for its library, or finds before it. */
const PYTHON_START = [
  ...['/usr', '/usr/bin', '/usr/local', '/usr/local/bin', '/bin'].flatMap((directory) =>
    ['pyvenv.cfg', 'pybuilddir.txt'].map((name) => `${directory}/${name}`),
  ),
  ...['/etc/python3*', '/usr/lib/python*.zip', '/usr/local/lib/python*.zip', '/usr/**/__pycache__'],
];

/** What runs or is looked up when any program starts, or any perl. */
const SYSTEM_START = [
  '/etc/ld.so.preload',
  '/etc/ld-musl-*.path',
  '/etc/sudo.conf',
  '/etc/nsswitch.conf',
  '/etc/ssl/openssl.cnf',
  '/etc/perl',
];

/** Never carried over from an agent's sandbox: answers, the grader's files and its reward, and what starts before every program. */
export const PROTECTED: readonly string[] = [
  ...['/tests', '/solution', '/logs/verifier'],
  ...SYSTEM_START,
  ...PYTHON_START,
  ...['site-packages', 'dist-packages'].flatMap((packages) =>
    ['sitecustomize.py', 'usercustomize.py', 'pytest', '_pytest', 'pluggy', 'pytest.py', 'pytest-*.dist-info'].map(
      (name) => `**/${packages}/${name}`,
    ),
  ),
];

const STDLIB = [
  ...['*.py', 'asyncio', 'collections', 'concurrent', 'ctypes', 'email', 'encodings', 'html', 'http', 'importlib'],
  ...['json', 'lib-dynload', 'logging', 'multiprocessing', 're', 'sqlite3', 'tomllib', 'unittest', 'urllib', 'xml'],
];

/**
 * Where the image's own files are put back: programs and all they are made of (the loader, shared libraries, standard libraries and
 * Debian's packages of them, headers, parts of compilers), and what runs as root when one user becomes another. What the agent
 * added there stays, as packages it installed do, but for what is `CLOSED`.
 */
export const RESTORED: readonly string[] = [
  ...['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/usr/libexec'],
  ...[
    '/lib',
    '/lib32',
    '/lib64',
    '/libx32',
    '/usr/lib32',
    '/usr/lib64',
    '/usr/libx32',
    '/usr/lib',
    '/usr/local/lib/*.so*',
  ],
  ...['/usr/share/perl', '/usr/share/perl5', '/usr/include', '/etc/pam.d', '/etc/pam.conf'],
  ...STDLIB.map((name) => `/usr/local/lib/python3.*/${name}`),
];

/** Names in /usr/local/lib/python3.x but `site-packages` and `dist-packages`: a package hides the module of its name. */
const BESIDE_PACKAGES = [
  ...['*.py', '*.pyc', '*.so', '[a-ce-rt-zA-Z_]*', 'd[a-hj-z_]*', 'di[a-rt-z_]*', 'dis', 'dis[a-su-z_]*'],
  ...['dist[a-zA-Z0-9_]*', 's[a-hj-z0-9_]*', 'si[a-su-z_]*', 'sit[a-df-z_]*', 'site', 'site[a-zA-Z0-9_]*'],
];

/**
 * Where interpreters and compilers look before or beside what the image has (an added file there would stand for one of the image's),
 * and what pytest and git in /tests find above it.
 * What the agent added there stays out, unless the workspace names it.
 */
export const CLOSED: readonly string[] = [
  ...['conftest.py', 'pytest.ini', '.pytest.ini', 'tox.ini', 'setup.cfg', 'pyproject.toml', '.git'].map(
    (name) => `/${name}`,
  ),
  ...['*._pth', '/bin/*._pth', '/usr/lib/python3.*', '/usr/lib/python3/dist-packages/*.pth'],
  ...BESIDE_PACKAGES.map((name) => `/usr/local/lib/python3.*/${name}`),
  ...['/usr/local', '/root/.local', '/home/*/.local'].flatMap((home) =>
    ['site-packages', 'dist-packages'].map((packages) => `${home}/lib/python3.*/${packages}/*.pth`),
  ),
  ...['/usr/local/lib/*/perl', '/usr/local/share/perl', '/usr/local/lib/site_perl', '/usr/local/lib/perl5'],
  ...['/usr/lib/*/perl', '/usr/lib/*/perl5', '/usr/lib/*/perl-base', '/usr/share/perl', '/usr/share/perl5'],
  ...['/usr/lib/ruby', '/usr/local/lib/ruby/[0-9]*', '/usr/local/lib/ruby/*_ruby', '/usr/local/lib/site_ruby'],
  ...['/usr/lib/gcc', '/usr/lib/gcc-cross', '/usr/local/lib/gcc', '/usr/libexec', '/usr/lib/bfd-plugins'],
  ...['/usr/*-linux-*', '/usr/lib/git-core', '/usr/lib/**/gconv', '/etc/pam.d'],
];

/** Where the kernel's and Debian's default look for programs, in this order. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Directories that are searched for programs, by an image's variables. */
export function programDirectories(env: Record<string, string>): string[] {
  const listed = (env.PATH ?? DEFAULT_PATH).split(':').filter((path) => path.startsWith('/') && path.length > 1);
  return [...new Set(listed)].slice(0, 64);
}
