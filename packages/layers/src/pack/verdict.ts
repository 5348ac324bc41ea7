import { closeSync, constants, openSync, readSync } from 'node:fs';
import { GlobSet, type GlobState } from '@vivarium/protocol/glob-set.ts';
import type { PackFinding, PackLeftOut } from '@vivarium/protocol/pack.ts';
import { CONTAINS_BYTES, REMOVED, type Rule, SUSPICIOUS } from './rules.ts';
import { Tally } from './tally.ts';

/** The lists of patterns that a pack goes by. */
export type Lists = {
  scrub: boolean;
  keep: readonly string[];
  exclude: readonly string[];
  protect: readonly string[];
  /** As the image has them in the split image where it has them, but for `except`. */
  restore: readonly string[];
  /** Nothing that was added there is in the split image, but for `except`. */
  closed: readonly string[];
  except: readonly string[];
  /** Directories of programs in the order of their search: see programs.ts. */
  programs: readonly string[];
  /** Nothing else is in the split image; null: all is. */
  only: readonly string[] | null;
};

/** What is known of a path by its name and those above it. */
export type Trail = {
  readonly keep: GlobState;
  readonly exclude: GlobState;
  readonly rules: GlobState;
  readonly suspicious: GlobState;
  readonly protect: GlobState;
  readonly restore: GlobState;
  readonly closed: GlobState;
  readonly except: GlobState;
  readonly only: GlobState;
  readonly kept: boolean;
  /** Number of the pattern that excludes it, of the rule that removes it. */
  readonly excluded: number | undefined;
  readonly removed: number | undefined;
  readonly protected: boolean;
  readonly restored: boolean;
  readonly isClosed: boolean;
  readonly excepted: boolean;
  readonly chosen: boolean;
};

/** A path as far as rules need to see it. `inside`: by what path it can be opened. */
export type Judged = {
  path: Buffer;
  inside: Buffer;
  type: 'file' | 'directory' | 'socket' | 'device' | 'deletion' | 'other';
  bytes: number;
};

/** Decides by their paths what of a sandbox's changes goes into a layer, and counts what does not. */
export class Verdicts {
  readonly start: Trail;
  readonly excluded: Tally;
  readonly suspicious: Tally;
  /** Patterns of protected paths, for what lies above them. */
  readonly protect: GlobSet;
  readonly restore: GlobSet;
  readonly closed: GlobSet;
  readonly #except: GlobSet;
  readonly #only: GlobSet;
  readonly #removed: Tally;
  readonly #devices = new Tally([{ name: 'devices', reason: 'an image has no device nodes' }]);
  readonly #keep: GlobSet;
  readonly #exclude: GlobSet;
  readonly #rules: GlobSet;
  readonly #suspicious: GlobSet;
  readonly #ruleOf: readonly Rule[];
  readonly #suspicionOf: readonly Rule[];

  constructor({ scrub, keep, exclude, protect, restore, closed, except, only }: Lists) {
    const [removed, suspicious] = scrub ? [REMOVED, SUSPICIOUS] : [[], []];
    this.#ruleOf = perGlob(removed);
    this.#suspicionOf = perGlob(suspicious);
    this.excluded = new Tally(exclude.map((name) => ({ name, reason: 'the request leaves it out' })));
    this.#removed = new Tally(this.#ruleOf);
    this.suspicious = new Tally(this.#suspicionOf);
    this.protect = new GlobSet(protect);
    this.restore = new GlobSet(restore);
    this.closed = new GlobSet(closed);
    this.#except = new GlobSet(except);
    this.#only = new GlobSet(only ?? []);
    this.#keep = new GlobSet(keep);
    this.#exclude = new GlobSet(exclude);
    this.#rules = new GlobSet(removed.flatMap(({ globs }) => globs));
    this.#suspicious = new GlobSet(suspicious.flatMap(({ globs }) => globs));
    this.start = {
      keep: this.#keep.start,
      exclude: this.#exclude.start,
      rules: this.#rules.start,
      suspicious: this.#suspicious.start,
      protect: this.protect.start,
      restore: this.restore.start,
      closed: this.closed.start,
      except: this.#except.start,
      only: this.#only.start,
      kept: false,
      excluded: undefined,
      removed: undefined,
      protected: false,
      restored: false,
      isClosed: false,
      excepted: false,
      chosen: only === null,
    };
  }

  get removed(): PackFinding[] {
    return [...this.#removed.findings(), ...this.#devices.findings()];
  }

  /** One name further down. */
  step(trail: Trail, bytes: Buffer, judged: Judged): Trail {
    const name = bytes.toString('latin1');
    const keep = this.#keep.step(trail.keep, name);
    const exclude = this.#exclude.step(trail.exclude, name);
    const rules = this.#rules.step(trail.rules, name);
    const suspicious = this.#suspicious.step(trail.suspicious, name);
    const protect = this.protect.step(trail.protect, name);
    const restore = this.restore.step(trail.restore, name);
    const closed = this.closed.step(trail.closed, name);
    const except = this.#except.step(trail.except, name);
    const only = this.#only.step(trail.only, name);
    const suspicion = suspicious.matches.find((n) => applies(this.#suspicionOf[n]!, judged));
    if (suspicion !== undefined && judged.type === 'file') this.suspicious.add(suspicion, judged.path, judged.bytes);
    return {
      keep: keep.state,
      exclude: exclude.state,
      rules: rules.state,
      suspicious: suspicious.state,
      protect: protect.state,
      restore: restore.state,
      closed: closed.state,
      except: except.state,
      only: only.state,
      kept: trail.kept || keep.matches.length > 0,
      excluded: trail.excluded ?? exclude.matches[0],
      removed: trail.removed ?? rules.matches.find((n) => applies(this.#ruleOf[n]!, judged)),
      protected: trail.protected || protect.matches.length > 0,
      restored: trail.restored || restore.matches.length > 0,
      isClosed: trail.isClosed || closed.matches.length > 0,
      excepted: trail.excepted || except.matches.length > 0,
      chosen: trail.chosen || only.matches.length > 0,
    };
  }

  /** Is a change on this trail in the split image too? */
  carries(trail: Trail, change: PackLeftOut['change']): boolean {
    if (trail.protected || !trail.chosen) return false;
    return trail.excepted || !(change === 'added' ? trail.isClosed : trail.restored);
  }

  /** Is a change on this trail left out of all images? Then it is counted. A deletion is no residue: rules leave it. */
  leavesOut({ excluded, removed, kept }: Trail, { path, bytes, type }: Judged): boolean {
    if (type === 'device') this.#devices.add(0, path, 0);
    else if (excluded !== undefined) this.excluded.add(excluded, path, bytes);
    else if (removed !== undefined && !kept && type !== 'deletion') this.#removed.add(removed, path, bytes);
    else return false;
    return true;
  }
}

/** The rule of each pattern, as a GlobSet of all of them numbers them. */
function perGlob(rules: readonly Rule[]): Rule[] {
  return rules.flatMap((rule) => rule.globs.map(() => rule));
}

function applies({ contains, type }: Rule, judged: Judged): boolean {
  if (type !== undefined && type !== judged.type) return false;
  return contains === undefined || (judged.type === 'file' && contains.test(head(judged.inside)));
}

function head(path: Buffer): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(CONTAINS_BYTES);
    return buffer.toString('latin1', 0, readSync(fd, buffer));
  } finally {
    closeSync(fd);
  }
}
