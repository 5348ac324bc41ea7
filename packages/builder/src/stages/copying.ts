import { posix } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { ignoreRules } from '@vivarium/protocol/ignore-rules.ts';
import { heredocOf } from '../dockerfile/heredocs.ts';
import type { Heredoc, Instruction } from '../dockerfile/instruction.ts';
import { jsonWords, shellWords } from '../dockerfile/words.ts';
import { inlineFile } from '../files/inline-file.ts';
import { SelectionError, type Source, selectionDigest, selectSources } from '../files/selection.ts';
import type { FileTree } from '../files/tree.ts';
import type { CopyAction } from '../workshop.ts';
import { Flags } from './flags.ts';
import type { Origins } from './origins.ts';
import type { StageState } from './stage-state.ts';

/** An action and what it depends on besides the image below. */
export type Planned<Action> = { action: Action; depends: unknown };

const COPY_FLAGS = ['from', 'chown', 'chmod', 'link', 'parents', 'exclude'];
const ADD_FLAGS = ['chown', 'chmod', 'link', 'exclude', 'checksum', 'keep-git-dir', 'unpack'];
const REMOTE = /^(https?|ftp|ssh|git):\/\/|^git@|\.git(#.*)?$/i;

/** COPY or ADD: where from, where to. Throws `dockerfile_invalid`, and `build_failed` for sources that are not there. */
export async function planCopy(state: StageState, at: Instruction, origins: Origins): Promise<Planned<CopyAction>> {
  const isAdd = at.keyword === 'ADD';
  const flags = new Flags(state, at, isAdd ? ADD_FLAGS : COPY_FLAGS, ['exclude']);
  if (flags.get('checksum') !== undefined || flags.on('keep-git-dir'))
    throw remoteRefused(state, at, 'its flags are for remote sources');
  const words = jsonWords(at.rest) ?? shellWords(at.rest, state.dockerfile.escapeChar);
  if (words.length < 2) throw state.complain(at, 'it takes at least one source and a destination');
  const destination = state.expand(words.at(-1)!, at);
  const heredocs = [...at.heredocs];
  const inline: Heredoc[] = [];
  const paths: string[] = [];
  for (const word of words.slice(0, -1)) {
    if (heredocs.length > 0 && heredocOf(word, state.dockerfile.escapeChar)) inline.push(heredocs.shift()!);
    else paths.push(state.expand(word, at));
  }
  const remote = isAdd ? paths.find((path) => REMOTE.test(path)) : undefined;
  if (remote !== undefined) throw remoteRefused(state, at, `"${remote}" is a remote source`);
  const action = {
    type: 'copy' as const,
    target: posix.resolve(state.config.cwd ?? '/', destination === '' ? '.' : destination),
    intoDirectory: /(^|\/)\.{0,2}$/.test(destination) || paths.length + inline.length > 1,
    owner: ownerOf(state, at, flags.get('chown')),
    mode: modeOf(state, at, flags.get('chmod')),
    extracts: isAdd && flags.get('unpack') !== 'false',
  };
  const exclude = ignoreRules(flags.all('exclude'));
  const options = {
    exclude: exclude.isEmpty ? undefined : exclude,
    parents: flags.on('parents'),
    keepsLinks: at.program?.keepsLinks ?? false,
  };
  const texts = inline.map((heredoc) =>
    inlineFile(heredoc.name, heredoc.expand ? state.expandHeredoc(heredoc.content, at) : heredoc.content),
  );
  const { type: _, ...plain } = action;
  const from = flags.get('from');
  if (from !== undefined) {
    const { base, tree } = await origins.image(from, at, paths);
    const sources = async () => [...texts, ...select(await tree(), paths, options, `--from=${from}`)];
    return {
      action: { ...action, sources },
      depends: ['copy-from', base.layers, paths, flags.all('exclude'), options.parents, plain],
    };
  }
  const sources = [...texts, ...select(origins.context, paths, options, 'the build context', origins.ignored)];
  return { action: { ...action, sources: async () => sources }, depends: ['copy', selectionDigest(sources), plain] };
}

/** The sources in a tree; one that is not there is `build_failed` and says whether .dockerignore took it away. */
export function select(
  tree: FileTree,
  paths: readonly string[],
  options: Parameters<typeof selectSources>[2],
  where: string,
  ignored: (path: string) => boolean = () => false,
): Source[] {
  try {
    return selectSources(tree, paths.map(latin1), options);
  } catch (thrown) {
    if (!(thrown instanceof SelectionError)) throw thrown;
    const source = utf8(thrown.source);
    const hint = ignored(source) ? 'The .dockerignore file leaves it out.' : undefined;
    throw new VivError('build_failed', `${utf8(thrown.message)} (in ${where})`, {
      details: { source },
      hint:
        hint ??
        'Paths are relative to the root of the build context (or of the --from image); nothing outside it can be copied.',
    });
  }
}

function remoteRefused(state: StageState, at: Instruction, message: string): Error {
  return state.complain(
    at,
    `${message}; ADD takes local files only`,
    'Fetch it in a RUN (with `--network node`), or put it into the build context.',
  );
}

/** A number alone stands for the group too, a name for the group the image's passwd file gives it. */
function ownerOf(state: StageState, at: Instruction, chown: string | undefined): string | null {
  if (chown === undefined) return null;
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$/.test(chown))
    throw state.complain(at, `--chown=${chown} is no owner: user, user:group or numbers`);
  return /^\d+$/.test(chown) ? `${chown}:${chown}` : chown;
}

function modeOf(state: StageState, at: Instruction, chmod: string | undefined): number | null {
  if (chmod === undefined) return null;
  if (!/^[0-7]{1,4}$/.test(chmod)) throw state.complain(at, `--chmod=${chmod} is no octal mode, as 0755`);
  return Number.parseInt(chmod, 8);
}

/** Paths in trees have one character per byte. */
export function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function utf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}
