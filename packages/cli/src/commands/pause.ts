import type { Command } from 'commander';
import { defineMany } from '../many.ts';

type Flags = { memory: boolean };

export function define(command: Command): void {
  command.option('--no-memory', 'end their processes and keep their files; resuming starts them anew');
  defineMany<Flags>(command, (sandbox, { memory }) => sandbox.pause({ memory }));
}
