import type { Command } from 'commander';

/** A verb's module is loaded only when the verb is used: `viv --help` and every verb start fast. */
export type VerbModule = { define(command: Command, all: readonly Verb[]): void };
/** Without `load`: not this program's (`up`), or no module of its own (`help`). */
export type Verb = { name: string; group: string; summary: string; load?: () => Promise<VerbModule> };
