/** Never carried over from an agent's sandbox: answers, the grader's files and its reward, and what starts before every program. */
export const PROTECTED: readonly string[] = [
  '/tests',
  '/solution',
  '/logs/verifier',
  '/etc/ld.so.preload',
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
