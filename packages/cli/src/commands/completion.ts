import { Argument, type Command } from 'commander';
import { completionScript } from '../completion-script.ts';
import { print } from '../console.ts';
import type { Verb } from '../verb.ts';

export function define(command: Command, all: readonly Verb[]): void {
  command
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => print(await completionScript(shell, all)));
  command.addHelpText(
    'after',
    '\nbash: source <(viv completion bash)\nzsh:  source <(viv completion zsh)\nfish: viv completion fish | source',
  );
}
