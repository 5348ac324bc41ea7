/** How code of one language becomes a program. Paths without a slash are looked up in PATH; files lie in the call’s directory. */
export type Language = {
  name: string;
  aliases: readonly string[];
  /** What the code is written to. */
  file: string;
  compile: readonly string[] | null;
  run: readonly string[];
};

/** Those that need no label. Any image that has the programs has them. */
export const LANGUAGE_TABLE: readonly Language[] = [
  language('python', ['python3', 'py'], 'main.py', null, ['python3', 'main.py']),
  language('pytest', [], 'test_main.py', null, ['pytest', 'test_main.py']),
  language('javascript', ['js', 'node', 'nodejs'], 'main.js', null, ['node', 'main.js']),
  language('bash', [], 'main.sh', null, ['bash', 'main.sh']),
  language('sh', [], 'main.sh', null, ['sh', 'main.sh']),
  language('c', [], 'main.c', ['gcc', '-O2', '-o', 'main', 'main.c', '-lm'], ['./main']),
  language('c++', ['cpp', 'cxx'], 'main.cpp', ['g++', '-O2', '-std=c++17', '-o', 'main', 'main.cpp'], ['./main']),
  language('go', ['golang'], 'main.go', ['go', 'build', '-o', 'main', 'main.go'], ['./main']),
  language('rust', ['rs'], 'main.rs', ['rustc', '-O', '-o', 'main', 'main.rs'], ['./main']),
  language('java', [], 'Main.java', ['javac', 'Main.java'], ['java', '-ea', 'Main']),
  language('perl', ['pl'], 'main.pl', null, ['perl', 'main.pl']),
  language('ruby', ['rb'], 'main.rb', null, ['ruby', 'main.rb']),
  language('php', [], 'main.php', null, ['php', 'main.php']),
  language('lua', [], 'main.lua', null, ['lua', 'main.lua']),
  language('r', ['R'], 'main.R', null, ['Rscript', 'main.R']),
];

function language(name: string, aliases: string[], file: string, compile: string[] | null, run: string[]): Language {
  return { name, aliases, file, compile, run };
}
