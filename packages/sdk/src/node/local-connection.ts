import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_URL } from '../config.ts';
import { type Login, readLogin } from './login-file.ts';

const DEFAULT_STATE_DIR = '/var/lib/vivarium';

/**
 * Where a command on this machine should connect: given values, else environment (`VIV_URL`, `VIV_API_KEY`), else the
 * stored login, else the node on this machine with its first key (readable by root only). A key of the login or of the
 * local node is only used with the URL it belongs to.
 */
export function localConnection(
  given: Partial<Login> = {},
  env: NodeJS.ProcessEnv = process.env,
  directory?: string,
): Login {
  const url = given.url ?? (env.VIV_URL || undefined);
  const apiKey = given.apiKey ?? (env.VIV_API_KEY || undefined);
  if (url !== undefined && apiKey !== undefined) return { url, apiKey };
  const login = readLogin(directory);
  if (login && (url === undefined || sameOrigin(url, login.url)))
    return withKey(url ?? login.url, apiKey ?? login.apiKey);
  const local = runningNode(env.VIV_STATE_DIR || DEFAULT_STATE_DIR);
  if (url !== undefined && !sameOrigin(url, local.url)) return withKey(url, apiKey);
  return withKey(url ?? local.url, apiKey ?? local.apiKey);
}

/** A node writes its address beside its key, so that one with another port is found by its state directory alone. */
function runningNode(stateDir: string): Login {
  const url = readLine(join(stateDir, 'keys/url')) ?? DEFAULT_URL;
  return withKey(url, readLine(join(stateDir, 'keys/first.key')));
}

function readLine(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function withKey(url: string, apiKey: string | undefined): Login {
  return apiKey === undefined ? { url } : { url, apiKey };
}

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}
