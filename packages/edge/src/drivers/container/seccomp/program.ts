import { ALLOW, DATA, encode, fail, type Instruction, load, type Range, ret, returnIfAtLeast, search } from './bpf.ts';
import { RULES } from './rules.ts';
import { ALLOWED, CONDITIONAL, DENIED } from './syscalls.ts';

const AUDIT_ARCH_X86_64 = 0xc000003e;
/** Numbers from here on are calls by the x32 ABI. */
const X32_BIT = 0x40000000;
const EPERM = 1;
const ENOSYS = 38;

/** The seccomp filter of every cell, as PID 1 installs it: compiled once per process. */
export function seccompProgram(): Uint8Array {
  compiled ??= encode(assemble());
  return compiled;
}

let compiled: Uint8Array | undefined;

/** Other architectures (32-bit calls) and x32 are as if the kernel had none; then the number is looked up. */
export function assemble(): Instruction[] {
  return [
    load(DATA.arch),
    { code: 0x15, jt: 1, jf: 0, k: AUDIT_ARCH_X86_64 },
    ret(fail(ENOSYS)),
    load(DATA.number),
    ...returnIfAtLeast(X32_BIT, fail(ENOSYS)),
    ...search(ranges()),
  ];
}

function ranges(): Range[] {
  const actions = new Map<number, Instruction[]>();
  for (const number of ALLOWED.values()) actions.set(number, [ret(ALLOW)]);
  for (const number of DENIED.values()) actions.set(number, [ret(fail(EPERM))]);
  for (const [name, number] of CONDITIONAL) actions.set(number, RULES[name]!);
  const last = Math.max(...actions.keys());
  const result: Range[] = [];
  for (let number = 0; number <= last + 1; number++) {
    const program = actions.get(number) ?? [ret(fail(ENOSYS))];
    if (!sameReturn(result.at(-1)?.program, program)) result.push({ from: number, program });
  }
  return result;
}

/** Neighbours with the same plain return are one range. */
function sameReturn(a: Instruction[] | undefined, b: Instruction[]): boolean {
  return a?.length === 1 && b.length === 1 && a[0]!.k === b[0]!.k;
}
