import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol/viv-error.ts';

/** What `viv login` keeps: one server and its key. */
export type Login = { url: string; apiKey?: string };

/** `$XDG_CONFIG_HOME/vivarium`, else ~/.config/vivarium. */
export function configDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'vivarium');
}

const file = (directory: string) => join(directory, 'config.json');

/** The stored login; undefined when there is none. A broken file is an error that names it. */
export function readLogin(directory = configDirectory()): Login | undefined {
  let text: string;
  try {
    text = readFileSync(file(directory), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new VivError('invalid_argument', `can't read ${file(directory)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  try {
    const login = JSON.parse(text) as Login;
    if (typeof login.url === 'string') return login;
  } catch {
    // Reported below.
  }
  throw new VivError('invalid_argument', `${file(directory)} holds no login`, {
    hint: '`viv login URL` writes a new one, `viv logout` removes it.',
  });
}

/** Written beside and renamed, readable by the owner only. */
export function writeLogin(login: Login, directory = configDirectory()): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const temporary = `${file(directory)}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, file(directory));
  return file(directory);
}

/** False when there was none. */
export function removeLogin(directory = configDirectory()): boolean {
  if (readLoginQuietly(directory) === false) return false;
  rmSync(file(directory), { force: true });
  return true;
}

function readLoginQuietly(directory: string): Login | boolean {
  try {
    return readLogin(directory) ?? false;
  } catch {
    return true;
  }
}
