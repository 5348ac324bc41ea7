import { type Instruction, OP } from './bpf.ts';

/** The words of `struct seccomp_data` that a filter may look at. */
export type SeccompData = { number: number; arch: number; args: bigint[] };

/** Runs a filter as the kernel does; for tests. Throws on anything the kernel would have refused to load. */
export function runFilter(program: readonly Instruction[], data: SeccompData): number {
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const { code, jt, jf, k } = program[at]!;
    if (code === OP.RETURN) return k >>> 0;
    if (code === OP.LOAD) accumulator = word(data, k);
    else if (code === OP.AND) accumulator = (accumulator & k) >>> 0;
    else if (code === OP.JA) at += k;
    else at += holds(code, accumulator, k >>> 0) ? jt : jf;
  }
  throw new Error('ran off the end of the filter');
}

function holds(code: number, accumulator: number, k: number): boolean {
  if (code === OP.JEQ) return accumulator === k;
  if (code === OP.JGE) return accumulator >= k;
  if (code === OP.JSET) return (accumulator & k) !== 0;
  throw new Error(`unknown instruction ${code}`);
}

function word(data: SeccompData, offset: number): number {
  if (offset === 0) return data.number >>> 0;
  if (offset === 4) return data.arch >>> 0;
  const argument = data.args[(offset - 16) >> 3];
  if (offset % 4 !== 0 || argument === undefined) throw new Error(`load from ${offset}`);
  return Number((offset % 8 === 0 ? argument : argument >> 32n) & 0xffffffffn);
}
