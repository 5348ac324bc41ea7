import { PACK_PATHS_MAX, type PackFinding } from '@vivarium/protocol/pack.ts';

/** Counts what rules or patterns matched; findings come in the order of the rules. */
export class Tally {
  readonly #rules: readonly { name: string; reason: string }[];
  readonly #findings = new Map<string, PackFinding>();

  constructor(rules: readonly { name: string; reason: string }[]) {
    this.#rules = rules;
  }

  add(rule: number, path: Buffer, bytes: number): void {
    const { name, reason } = this.#rules[rule]!;
    const key = `${name}\0${reason}`;
    const finding = this.#findings.get(key) ?? { rule: name, reason, entries: 0, bytes: 0, paths: [] };
    this.#findings.set(key, finding);
    finding.entries++;
    finding.bytes += bytes;
    if (finding.paths.length < PACK_PATHS_MAX) finding.paths.push(path.toString('utf8'));
  }

  findings(): PackFinding[] {
    const keys = new Set(this.#rules.map(({ name, reason }) => `${name}\0${reason}`));
    return [...keys].flatMap((key) => this.#findings.get(key) ?? []);
  }
}
