import { fileURLToPath } from 'node:url';
import { ImageConfig } from '@vivarium/protocol';
import type { Source } from '../builder.ts';
import { bootstrapSource } from './debootstrap.ts';

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
const EXCLUDED = ['/usr/share/man/*', '/usr/share/info/*', '/usr/share/doc/*', '/usr/share/locale/*'];

/** The image made on first use: Debian 12 with Python, git and a C compiler, and a user `user` (1000) who may use sudo. */
export function builtinBase(mirror: string | undefined): { source: Source; config: ImageConfig } {
  const customize = fileURLToPath(new URL('../recipes/base.sh', import.meta.url));
  const source = bootstrapSource(
    {
      suite: SUITE,
      variant: 'minbase',
      include: PACKAGES,
      exclude: EXCLUDED,
      customize,
      ...(mirror !== undefined && { mirror }),
    },
    'builtin:base',
  );
  return { source, config: ImageConfig.parse({ env: { LANG: 'C.UTF-8' } }) };
}
