import type { Command } from 'commander';
import { defineMany } from '../many.ts';

export function define(command: Command): void {
  defineMany(command, (sandbox) => sandbox.pause());
}
