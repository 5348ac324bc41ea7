/**
 * Classic BPF, as seccomp takes it (linux/filter.h, seccomp(2)): an instruction set with one accumulator and forward
 * jumps only.
 */
export type Instruction = { code: number; jt: number; jf: number; k: number };

/** Opcodes: class | size or operation | source. */
export const OP = { LOAD: 0x20, JA: 0x05, JEQ: 0x15, JGE: 0x35, JSET: 0x45, AND: 0x54, RETURN: 0x06 } as const;

/** Offsets in `struct seccomp_data`. The low word of an argument is what the kernel looks at in every rule here. */
export const DATA = { number: 0, arch: 4, argument: (index: number) => 16 + 8 * index } as const;

export const ALLOW = 0x7fff0000;
/** SECCOMP_RET_ERRNO: the call is not made and fails with this error. */
export const fail = (errno: number): number => 0x00050000 | errno;

export const load = (offset: number): Instruction => ({ code: OP.LOAD, jt: 0, jf: 0, k: offset });
export const and = (mask: number): Instruction => ({ code: OP.AND, jt: 0, jf: 0, k: mask });
export const ret = (action: number): Instruction => ({ code: OP.RETURN, jt: 0, jf: 0, k: action });

/** If the accumulator equals the value, return the action; else go on. */
export const returnIfEqual = (value: number, action: number): Instruction[] => [
  { code: OP.JEQ, jt: 0, jf: 1, k: value },
  ret(action),
];
/** If the accumulator has any of the bits, return the action; else go on. */
export const returnIfAny = (mask: number, action: number): Instruction[] => [
  { code: OP.JSET, jt: 0, jf: 1, k: mask },
  ret(action),
];
/** If the accumulator is at least the value, return the action; else go on. */
export const returnIfAtLeast = (value: number, action: number): Instruction[] => [
  { code: OP.JGE, jt: 0, jf: 1, k: value },
  ret(action),
];

/** What happens for the numbers from `from` on, up to the next range. Every `program` ends in a return. */
export type Range = { from: number; program: Instruction[] };

/** A binary search over the accumulator: ranges in ascending order, the first from 0. */
export function search(ranges: readonly Range[]): Instruction[] {
  if (ranges.length === 1) return ranges[0]!.program;
  const middle = ranges.length >> 1;
  const low = search(ranges.slice(0, middle));
  const high = search(ranges.slice(middle));
  const k = ranges[middle]!.from;
  // A conditional jump reaches 255 instructions; beyond, an unconditional one takes over.
  if (low.length <= 255) return [{ code: OP.JGE, jt: low.length, jf: 0, k }, ...low, ...high];
  return [{ code: OP.JGE, jt: 0, jf: 1, k }, { code: OP.JA, jt: 0, jf: 0, k: low.length }, ...low, ...high];
}

/** As an array of `struct sock_filter`. */
export function encode(program: readonly Instruction[]): Uint8Array {
  const buffer = Buffer.alloc(program.length * 8);
  for (const [index, { code, jt, jf, k }] of program.entries()) {
    buffer.writeUInt16LE(code, index * 8);
    buffer.writeUInt8(jt, index * 8 + 2);
    buffer.writeUInt8(jf, index * 8 + 3);
    buffer.writeUInt32LE(k >>> 0, index * 8 + 4);
  }
  return buffer;
}
