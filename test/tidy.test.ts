import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  importsOf,
  isTest,
  packageSources,
  ROOT,
  readTracked,
  resolveImport,
  sizeOf,
  trackedFiles,
} from './tidy/sources.ts';

/** Which package may import which (docs/design.md, the picture): nothing imports what is above it. */
const ALLOWED: Record<string, string[]> = {
  protocol: [],
  core: ['protocol'],
  layers: ['core', 'protocol'],
  builder: ['protocol'],
  edge: ['builder', 'core', 'layers', 'protocol'],
  apiserver: ['core', 'edge', 'protocol'],
  node: ['apiserver', 'core', 'edge', 'layers', 'protocol'],
  sdk: ['protocol'],
  eval: ['protocol', 'sdk'],
  cli: ['eval', 'sdk'],
};
/** Only what it says in its interface: the apiserver knows no edge from the inside. */
const EDGE_INTERFACE = 'packages/edge/src/edge.ts';
/** Modules that a client in a browser can't have. */
const SDK_MAIN = 'packages/sdk/src/index.ts';

const LINES_MAX = 300;
const TEST_LINES_MAX = 400;
const FILE_BYTES_MAX = 512 * 1024;
const LARGE_FILES = ['docs/openapi.json', 'package-lock.json'];
const BANNED_NAMES = /^(utils?|helpers?|misc|common|stuff|lib|shared)$/;
/** Traces of one developer's machine have no place in the repository. */
const MACHINE_TRACES = [
  /\/work\/(main|shared|\.library)\b/,
  /\/tmp\/(brief|h-[a-z])/,
  /\bsnapshot\.debian\.org\b/,
  /"resolved": "https?:/,
];

test('packages import only what is below them', () => {
  const wrong = packageSources().flatMap((path) => {
    const owner = path.split('/')[1]!;
    return importsOf(path)
      .map((item) => ({ item, target: resolveImport(item) }))
      .filter(({ target }) => target?.startsWith('packages/') && target.split('/')[1] !== owner)
      .filter(({ target }) => !ALLOWED[owner]?.includes(target!.split('/')[1]!))
      .map(({ item }) => `${path} imports ${item.specifier}`);
  });
  assert.deepEqual(wrong, []);
});

test('the apiserver knows the edge by its interface only', () => {
  const wrong = packageSources()
    .filter((path) => path.startsWith('packages/apiserver/'))
    .flatMap((path) => importsOf(path).map((item) => ({ path, item, target: resolveImport(item) })))
    .filter(({ target, item }) => target?.startsWith('packages/edge/') && (target !== EDGE_INTERFACE || !item.typeOnly))
    .map(({ path, item }) => `${path} imports ${item.specifier}`);
  assert.deepEqual(wrong, []);
});

test('the SDK’s main entry needs nothing of Node', () => {
  const wrong = [...reachableFrom(SDK_MAIN)]
    .flatMap((path) => importsOf(path))
    .filter((item) => !item.typeOnly && item.specifier.startsWith('node:'))
    .map((item) => `${item.from} imports ${item.specifier}`);
  assert.deepEqual(wrong, []);
});

test('no module imports itself through others', () => {
  const sources = packageSources();
  const edges = new Map(sources.map((path) => [path, runtimeTargets(path)]));
  assert.deepEqual(cycles(edges), []);
});

test('the search for cycles finds them', () => {
  const edges = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', ['a']],
  ]);
  assert.deepEqual(cycles(edges), ['a -> b -> c -> a']);
});

test('files are short enough to read whole', () => {
  const wrong = trackedFiles()
    .filter((path) => /\.(ts|mjs|c|h|sh)$/.test(path))
    .map((path) => ({ path, lines: readTracked(path).split('\n').length - 1 }))
    .filter(({ path, lines }) => lines > (isTest(path) || /(^|\/)test\//.test(path) ? TEST_LINES_MAX : LINES_MAX))
    .map(({ path, lines }) => `${path} has ${lines} lines`);
  assert.deepEqual(wrong, []);
});

test('files are named for nouns, in kebab-case', () => {
  const wrong = trackedFiles()
    .filter((path) => /\.(ts|mjs|c|h|sh)$/.test(path))
    .filter((path) => {
      const name = path.split('/').at(-1)!;
      const stem = name.replace(/(\.(test|unit|kernel|bench|fuzz|build))*\.[a-z]+$/, '');
      const folders = path.split('/').slice(0, -1);
      return !/^[a-z0-9]+([-_][a-z0-9]+)*$/.test(stem) || [stem, ...folders].some((part) => BANNED_NAMES.test(part));
    });
  assert.deepEqual(wrong, []);
});

test('every public function and class says what it does', () => {
  const wrong = Object.keys(ALLOWED).flatMap((name) => {
    const index = `packages/${name}/src/index.ts`;
    return existsSync(join(ROOT, index)) ? undocumented(index) : [];
  });
  assert.deepEqual(wrong, []);
});

test('nothing of a developer’s machine is in the repository', () => {
  const wrong = trackedFiles()
    .filter((path) => path !== 'test/tidy.test.ts')
    .flatMap((path) =>
      MACHINE_TRACES.filter((trace) => trace.test(readTracked(path))).map((trace) => `${path}: ${trace}`),
    );
  assert.deepEqual(wrong, []);
});

test('no binaries and no large files are in the repository', () => {
  const wrong = trackedFiles().filter((path) => {
    const large = sizeOf(path) > FILE_BYTES_MAX && !LARGE_FILES.includes(path);
    return large || readFileSync(join(ROOT, path)).subarray(0, 8192).includes(0);
  });
  assert.deepEqual(wrong, []);
});

test('every promise of the specification names the test that holds it', () => {
  const rows = readTracked('docs/specification.md')
    .split('\n')
    .filter((line) => /^\|(?!\s*(promise|-))/.test(line));
  assert.ok(rows.length > 20, 'the specification has a table');
  const wrong = rows.filter((row) => {
    const holder = row.split('|').at(-2)?.trim() ?? '';
    const files = [...holder.matchAll(/`([^`]+\.(?:ts|c))`/g)].map((match) => match[1]!);
    return files.length === 0 || files.some((file) => !existsSync(join(ROOT, file)));
  });
  assert.deepEqual(wrong, []);
});

function runtimeTargets(path: string): string[] {
  return importsOf(path)
    .filter((item) => !item.typeOnly)
    .map(resolveImport)
    .filter((target) => target !== undefined);
}

function reachableFrom(start: string): Set<string> {
  const seen = new Set<string>();
  const open = existsSync(join(ROOT, start)) ? [start] : [];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    open.push(...runtimeTargets(path).filter((target) => existsSync(join(ROOT, target))));
  }
  return seen;
}

/** Each cycle once, as `a -> b -> a`, found by depth-first search. */
function cycles(edges: Map<string, string[]>): string[] {
  const found: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const visit = (path: string, trail: string[]) => {
    if (state.get(path) === 'done') return;
    if (state.get(path) === 'open') {
      found.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      return;
    }
    state.set(path, 'open');
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    state.set(path, 'done');
  };
  for (const path of edges.keys()) visit(path, []);
  return found;
}

/** Exported functions and classes, reachable from a package's index, without a docstring right above. */
function undocumented(index: string): string[] {
  const files = [index, ...importsOf(index).map(resolveImport)].filter((path) =>
    path?.startsWith(index.replace('index.ts', '')),
  );
  return files.flatMap((path) => {
    const lines = readTracked(path!).split('\n');
    return lines
      .map((line, n) => ({
        name: /^export (?:async )?(?:function\*?|class) (\w+)/.exec(line)?.[1],
        above: lines[n - 1]?.trim() ?? '',
      }))
      .filter(({ name, above }) => name !== undefined && !above.endsWith('*/'))
      .map(({ name }) => `${path}: ${name}`);
  });
}
