/** A flag before the arguments, as `--from=build`. `value` is null where there is no `=`. */
export type Flag = { name: string; value: string | null };

/** A here-document of an instruction. */
export type Heredoc = {
  name: string;
  /** Variables in it are expanded where the instruction expands (COPY, ADD): its name was not quoted. */
  expand: boolean;
  /** Leading tabs are taken off (`<<-`). */
  chomp: boolean;
  content: string;
};

/** One instruction as written, with continuation lines joined. */
export type Instruction = {
  /** Upper case. */
  keyword: string;
  /** First and last line, from 1. */
  line: number;
  endLine: number;
  flags: Flag[];
  /** What follows the keyword and its flags. */
  rest: string;
  heredocs: Heredoc[];
  /** The joined line, for people. */
  text: string;
  /** What no Dockerfile can say, but the steps of a program. */
  program?: {
    /** Run it again even if its result is in the cache. */
    fresh: boolean;
    /** A COPY's source that is a link is copied as one. */
    keepsLinks: boolean;
  };
};

export type Dockerfile = { instructions: Instruction[]; escapeChar: '\\' | '`'; name: string };
