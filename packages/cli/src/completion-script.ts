import { Command } from 'commander';
import type { Verb } from './verb.ts';

type Words = { verb: string; summary: string; words: string[]; takesSandbox: boolean };

/** A script for the shell, made from the same definitions as the help. Sandbox ids are asked of the server when needed. */
export async function completionScript(shell: 'bash' | 'zsh' | 'fish', all: readonly Verb[]): Promise<string> {
  const verbs = await Promise.all(all.map((verb) => wordsOf(verb, all)));
  if (shell === 'fish') return fish(verbs);
  return shell === 'zsh' ? `autoload -U +X bashcompinit && bashcompinit\n${bash(verbs)}` : bash(verbs);
}

async function wordsOf({ name, summary, load }: Verb, verbs: readonly Verb[]): Promise<Words> {
  const command = new Command(name);
  if (load) (await load()).define(command, verbs);
  const commands = [command, ...command.commands];
  const options = commands
    .flatMap((each) => each.options.flatMap(({ short, long }) => [short, long]))
    .filter((word): word is string => word != null);
  const words = [
    ...command.commands.map((each) => each.name()),
    ...new Set([...options, ...(load ? ['--url', '--api-key', '--help'] : [])]),
  ];
  if (name === 'help') words.push(...verbs.map((verb) => verb.name));
  return {
    verb: name,
    summary,
    words,
    takesSandbox: commands.some((each) => each.registeredArguments.some((argument) => argument.name() === 'sandbox')),
  };
}

function bash(verbs: readonly Words[]): string {
  const cases = verbs.map(
    ({ verb, words, takesSandbox }) => `    ${verb}) words='${words.join(' ')}'${takesSandbox ? '; ids=1' : ''} ;;`,
  );
  return `# bash completion of viv
_viv() {
  local words= ids= current=\${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${verbs.map(({ verb }) => verb).join(' ')}' -- "$current"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  case $current in
    -*) ;;
    *) [ -n "$ids" ] && words="$words $(viv ls -q 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _viv viv`;
}

function fish(verbs: readonly Words[]): string {
  const lines = ['# fish completion of viv', 'complete -c viv -f -n __fish_use_subcommand'];
  for (const { verb, summary, words, takesSandbox } of verbs) {
    lines.push(`complete -c viv -n __fish_use_subcommand -a ${verb} -d '${summary.replaceAll("'", "\\'")}'`);
    const on = `complete -c viv -n '__fish_seen_subcommand_from ${verb}'`;
    if (words.length > 0) lines.push(`${on} -a '${words.join(' ')}'`);
    if (takesSandbox) lines.push(`${on} -a '(viv ls -q 2>/dev/null)'`);
  }
  return lines.join('\n');
}
