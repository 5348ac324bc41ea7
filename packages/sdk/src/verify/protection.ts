/** What a Python of the system looks for beside itself before it looks for its library, or finds before it. */
const PYTHON_START = [
  ...['/usr', '/usr/bin', '/usr/local', '/usr/local/bin', '/bin'].flatMap((directory) =>
    ['pyvenv.cfg', 'pybuilddir.txt'].map((name) => `${directory}/${name}`),
  ),
  ...['/etc/python3*', '/usr/lib/python*.zip', '/usr/local/lib/python*.zip', '/usr/**/__pycache__'],
];

/** What runs or is looked up when any program starts, or any perl. */
const SYSTEM_START = ['/etc/ld.so.preload', '/etc/nsswitch.conf', '/etc/ssl/openssl.cnf', '/etc/perl'];

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
 * Where the image's own files are put back: programs, the loader and shared libraries, Python's standard library and
 * Debian's packages of it. What the agent
 * added there stays, as packages it installed do.
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
    '/usr/lib/**/*.so',
    '/usr/lib/**/*.so.*',
    '/usr/local/lib/*.so*',
    '/usr/lib/**/gconv',
  ],
  ...['/usr/lib/python3.*', '/usr/lib/python3'],
  ...STDLIB.map((name) => `/usr/local/lib/python3.*/${name}`),
];

/** Where the kernel's and Debian's default look for programs, in this order. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Directories that are searched for programs, by an image's variables. */
export function programDirectories(env: Record<string, string>): string[] {
  const listed = (env.PATH ?? DEFAULT_PATH).split(':').filter((path) => path.startsWith('/') && path.length > 1);
  return [...new Set(listed)].slice(0, 64);
}
