import { Argument, type Command } from 'commander';
import { completionScript } from '../completion-script.ts';
import { print } from '../console.ts';

export function define(command: Command): void {
  command
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => print(await completionScript(shell)));
  command.addHelpText(
    'after',
    '\nbash: source <(viv completion bash)\nzsh:  source <(viv completion zsh)\nfish: viv completion fish | source',
  );
}
