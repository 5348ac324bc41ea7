import { GlobSet } from '@vivarium/protocol/glob-set.ts';
import type { Change } from '@vivarium/protocol/sandbox.ts';

/** What a change outside the workspace can take over; worst first. */
export const TAMPERING_KINDS = [
  'interpreter',
  'startup',
  'library',
  'binary',
  'account',
  'scheduler',
  'other',
] as const;
export type TamperingKind = (typeof TAMPERING_KINDS)[number];
export type Tampering = { path: string; change: Change['change']; what: TamperingKind };

export type TamperingReport = {
  /** Worst first: by kind, then changed and deleted before added. */
  entries: Tampering[];
  /** Complete, also when `entries` is not. */
  counts: Partial<Record<TamperingKind, number>>;
};

const ENTRIES_MAX = 200;
const BIN = '(?:/usr(?:/local)?|/opt/[^/]+|/(?:root|home/[^/]+)/\\.local)?/s?bin';
const INTERPRETERS =
  '(?:ba|da|z|k|c|tc|fi)?sh|busybox|env|python[\\d.]*|pypy[\\d.]*|perl[\\d.]*|ruby[\\d.]*|node|nodejs|deno|bun|lua[\\d.]*|php[\\d.]*|java|Rscript|pytest[\\d.-]*|py\\.test|uv|uvx|pip[\\d.]*|npm|npx|make|sudo';

const RULES: readonly [RegExp, TamperingKind][] = [
  [/^\/etc\/ld\.so\.(preload|cache|conf)$|^\/etc\/ld\.so\.conf\.d\//, 'startup'],
  [
    /^\/etc\/(profile|environment|bash\.bashrc|bashrc|zsh|inputrc|inittab|rc\.local)(\/|$)|^\/etc\/profile\.d\//,
    'startup',
  ],
  [/\/\.(bashrc|bash_profile|bash_login|bash_aliases|profile|zshrc|zshenv|zprofile|pam_environment)$/, 'startup'],
  [/\/(site|dist)-packages\/([^/]+\.pth|(site|user)customize(\.py|\/.*)?)$|\/pythonstartup/, 'startup'],
  [
    /^\/etc\/(python3[^/]*|perl|nsswitch\.conf|ssl\/openssl\.cnf)(\/|$)|^\/usr(\/local)?\/lib\/python\d+\.zip$/,
    'startup',
  ],
  [/\.(dist|egg)-info\/entry_points\.txt$/, 'startup'],
  [/\/(pyvenv\.cfg|pybuilddir\.txt|\.python-version|pip\.conf|\.npmrc|\.pypirc)$/, 'startup'],
  [/^\/etc\/(gitconfig|alternatives)(\/|$)|\/\.gitconfig$|\/\.git\/(hooks\/|config$)|\/\.config\/git\//, 'startup'],
  [/\/(conftest\.py|pytest\.ini|tox\.ini|setup\.cfg|\.coveragerc|\.env|\.envrc)$/, 'startup'],
  [
    /^(\/usr)?\/lib\/(systemd|init)\/|^\/etc\/(systemd|init\.d|rc\d?\.d|xdg\/autostart)(\/|$)|\/\.config\/(systemd|autostart)\//,
    'scheduler',
  ],
  [/^\/etc\/(cron|anacrontab|at\.)|^\/var\/spool\/(cron|at)\b/, 'scheduler'],
  [
    /^\/etc\/(passwd|shadow|group|gshadow|subuid|subgid|sudoers|doas\.conf|login\.defs|hosts|resolv\.conf)-?$/,
    'account',
  ],
  [/^\/etc\/(pam\.d|pam\.conf|sudoers\.d|security|ssh|ssl)(\/|$)|\/\.ssh\/|^(\/usr)?\/lib\/.*\/security\//, 'account'],
  [new RegExp(`^${BIN}/(${INTERPRETERS})$`), 'interpreter'],
  [/\/(site|dist)-packages\/(_?pytest|pluggy|unittest|nose2?)(\/|\.py$)/, 'interpreter'],
  [/^\/usr(\/local)?\/lib\/python[\d.]+\/(?!(site|dist)-packages\/)/, 'interpreter'],
  [new RegExp(`^${BIN}/`), 'binary'],
  [/^\/usr(\/local)?\/libexec\//, 'binary'],
  [/^(\/usr(\/local)?)?\/lib(32|64|x32)?\/|\.so(\.[\d.]+)?$/, 'library'],
  [/^\/usr(\/local)?\/(lib|share)\/(node_modules|nodejs|perl5?|ruby)\//, 'library'],
];

/** Not worth a word: nothing is started from there. */
const RESIDUE =
  /^\/(tmp|var\/tmp|run|var\/run|dev|proc|sys)(\/|$)|^\/var\/(log|cache|lib\/(apt|dpkg|systemd))(\/|$)|^\/logs\/(agent|artifacts)(\/|$)|\/(__pycache__|\.cache|\.pytest_cache)(\/|$)|\/\.(bash|python|sqlite)_history$/;

/** What a change of this path can take over. */
export function kindOf(path: string): TamperingKind {
  return RULES.find(([pattern]) => pattern.test(path))?.[1] ?? 'other';
}

/** Collects what changed outside the workspace. Directories count only with what is in them. */
export class TamperingCollector {
  readonly #workspace: GlobSet;
  readonly #found = new Map<string, Tampering[]>();
  readonly #counts: Partial<Record<TamperingKind, number>> = {};

  constructor(workspace: readonly string[]) {
    this.#workspace = new GlobSet(workspace);
  }

  add({ path, change, type }: Pick<Change, 'path' | 'change' | 'type'>): void {
    if (type === 'dir' && change !== 'deleted') return;
    if (RESIDUE.test(path) || this.#workspace.matches(path)) return;
    const what = kindOf(path);
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
    const rank = `${TAMPERING_KINDS.indexOf(what)}${change === 'added' ? 1 : 0}`;
    const list = this.#found.get(rank) ?? [];
    if (list.length < ENTRIES_MAX) list.push({ path, change, what });
    this.#found.set(rank, list);
  }

  report(): TamperingReport {
    const ranks = [...this.#found.keys()].sort();
    const entries = ranks.flatMap((rank) => this.#found.get(rank)!).slice(0, ENTRIES_MAX);
    return { entries, counts: this.#counts };
  }
}

/** The same over a list at hand. */
export function tampering(
  changes: Iterable<Pick<Change, 'path' | 'change' | 'type'>>,
  workspace: readonly string[] = [],
): TamperingReport {
  const collector = new TamperingCollector(workspace);
  for (const change of changes) collector.add(change);
  return collector.report();
}
