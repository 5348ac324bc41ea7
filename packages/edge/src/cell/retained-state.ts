import type { RetainedProcess } from './cell-process.ts';
import { readOffset, violation } from './frame.ts';
import { eachTlv, fixed } from './tlv.ts';

export type StateOutput = { base: number; end: number; eof: boolean };

/** A STATE frame, parsed: a process or listener that an earlier connection left. */
export type RetainedState = {
  kind: 'process' | 'listener';
  stream: number;
  pid: number;
  /** running: START was received. */
  phase: 'waiting' | 'running' | 'exited';
  /** As in EXITED; only when exited. */
  exit: Buffer | null;
  out1: StateOutput | null;
  out2: StateOutput | null;
  /** Bytes of stdin; null: it is no stream. */
  received: number | null;
  tag: Buffer;
};

const PHASES = [undefined, 'waiting', 'running', 'exited'] as const;

export function parseState(stream: number, payload: Buffer): RetainedState {
  let kind = 0;
  let phase = 0;
  const state: RetainedState = {
    kind: 'process',
    stream,
    pid: 0,
    phase: 'waiting',
    exit: null,
    out1: null,
    out2: null,
    received: null,
    tag: Buffer.alloc(0),
  };
  eachTlv(payload, (tag, value) => {
    if (tag === 1) kind = fixed(value, 4).readUInt32LE(0);
    else if (tag === 2) state.pid = fixed(value, 4).readUInt32LE(0);
    else if (tag === 3) phase = fixed(value, 4).readUInt32LE(0);
    else if (tag === 4) state.exit = Buffer.from(fixed(value, 32));
    else if (tag === 5) state.out1 = parseOutput(value);
    else if (tag === 6) state.out2 = parseOutput(value);
    else if (tag === 7) state.received = readOffset(fixed(value, 8), 0);
    else if (tag === 8 && value.length <= 64) state.tag = Buffer.from(value);
    else throw violation(`tag ${tag} in STATE`);
  });
  if (kind === 2) return { ...state, kind: 'listener' };
  const name = PHASES[phase];
  if (kind !== 1 || name === undefined) throw violation(`STATE of kind ${kind} in phase ${phase}`);
  if (state.out1 === null || (name === 'exited') !== (state.exit !== null)) throw violation('incomplete STATE');
  return { ...state, phase: name };
}

/** What a caller is told of a process that nobody has claimed yet. */
export function retainedProcess(state: RetainedState): RetainedProcess {
  const { stream, pid, phase, tag, out1, out2, received } = state;
  return { stream, pid, phase, tag, out1: out1 ?? { base: 0, end: 0, eof: true }, out2, received: received ?? 0 };
}

function parseOutput(value: Buffer): StateOutput {
  fixed(value, 17);
  const output = { base: readOffset(value, 0), end: readOffset(value, 8), eof: value[16] !== 0 };
  if (output.base > output.end) throw violation('STATE with output that ends before it begins');
  return output;
}
