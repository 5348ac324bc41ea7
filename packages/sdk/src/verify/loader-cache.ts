import type { Sandbox } from '../sandbox.ts';
import { AS_ROOT } from './as-root.ts';

export const LOADER_CACHE = '/etc/ld.so.cache';
const LDCONFIG = '/sbin/ldconfig';
const CACHE_BYTES_MAX = 16 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

/**
 * The loader's cache says which file a library's name stands for, so the agent's is not taken over. Where the agent made a new one (it
 * installed libraries), one is made here, by the image's own ldconfig; should it name other files for any library that the image has,
 * the image's cache is put back.
 */
export async function refreshLoaderCache(sandbox: Sandbox): Promise<'made' | 'kept'> {
  const before = await listed(sandbox);
  if (before === null) return 'kept';
  const kept = await sandbox.files.read(LOADER_CACHE, { ...AS_ROOT, length: CACHE_BYTES_MAX });
  const { ok } = await sandbox.exec([LDCONFIG], { ...AS_ROOT, cwd: '/', timeoutMs: TIMEOUT_MS, label: 'verifier' });
  const after = ok ? await listed(sandbox) : null;
  if (after !== null && [...before].every(([name, paths]) => after.get(name) === paths)) return 'made';
  await sandbox.files.write(LOADER_CACHE, kept, { ...AS_ROOT, mode: 0o644, owner: '0:0' });
  return 'kept';
}

/** Files by name of library, or null when there is no list. */
async function listed(sandbox: Sandbox): Promise<Map<string, string> | null> {
  const options = { ...AS_ROOT, cwd: '/', timeoutMs: TIMEOUT_MS, label: 'verifier' };
  const result = await sandbox.exec([LDCONFIG, '-p'], options);
  return result.ok ? parseCacheList(result.stdout) : null;
}

/** Lines of ldconfig(8) -p: `\tlibc.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libc.so.6`. */
export function parseCacheList(text: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const [, name, path] of text.matchAll(/^\t(\S+) \(.*\) => (.+)$/gm))
    files.set(name!, `${files.get(name!) ?? ''}${path}\n`);
  return files;
}
