import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Paths of all files that git tracks or would track, relative to the root, without those deleted in the work tree. */
export function trackedFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listed.split('\0').filter((path) => path !== '' && isFile(path));
}

export function readTracked(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export function sizeOf(path: string): number {
  return statSync(join(ROOT, path)).size;
}

/** TypeScript sources of the packages. */
export function packageSources(): string[] {
  return trackedFiles().filter((path) => /^packages\/[^/]+\/src\/.*\.ts$/.test(path));
}

export function isTest(path: string): boolean {
  return /\.(test|bench|fuzz)\.ts$|\/testing\/|\/contract\.ts$/.test(path);
}

export type Import = { from: string; specifier: string; typeOnly: boolean };

/** Static and dynamic imports of a source; `import type` and `export type … from` are type-only. */
export function importsOf(path: string): Import[] {
  const text = withoutComments(readTracked(path));
  const statics = text.matchAll(
    /^(?:import|export)\s+(?<type>type\s)?(?<names>[^'";]*?)\s*(?:from\s*)?'(?<specifier>[^']+)'/gm,
  );
  const dynamics = text.matchAll(/\bimport\('(?<specifier>[^']+)'\)(?<member>\.[A-Z])?/g);
  return [
    ...[...statics].map((match) => ({
      from: path,
      specifier: match.groups!.specifier!,
      typeOnly: isTypeOnly(match.groups!),
    })),
    ...[...dynamics].map((match) => ({
      from: path,
      specifier: match.groups!.specifier!,
      typeOnly: match.groups!.member !== undefined,
    })),
  ];
}

/** The tracked file that a relative import names, or undefined for a package. */
export function resolveImport({ from, specifier }: Import): string | undefined {
  const own = /^@vivarium\/([^/]+)(?:\/(.+))?$/.exec(specifier);
  if (own !== null) return `packages/${own[1]}/src/${own[2] ?? 'index.ts'}`;
  return specifier.startsWith('.') ? join(dirname(from), specifier) : undefined;
}

/** `import { type A, type B }` costs nothing at run time either. */
function isTypeOnly(groups: Record<string, string | undefined>): boolean {
  if (groups.type !== undefined) return true;
  const names = /^\{(.*)\}$/s
    .exec(groups.names?.trim() ?? '')?.[1]
    ?.split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return names !== undefined && names.length > 0 && names.every((name) => name.startsWith('type '));
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function isFile(path: string): boolean {
  try {
    return statSync(join(ROOT, path)).isFile();
  } catch {
    return false;
  }
}
