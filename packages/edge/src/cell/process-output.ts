import { violation } from './frame.ts';
import { Inflow } from './inflow.ts';
import type { Link } from './link.ts';
import type { RetainedState, StateOutput } from './retained-state.ts';

/** The output channels of one process: 1 and, unless it is a terminal or merged, 2. */
export class ProcessOutput {
  readonly #link: Link;
  readonly #stream: number;
  readonly #out1: Inflow;
  readonly #out2: Inflow | null;

  private constructor(link: Link, stream: number, out1: Inflow, out2: Inflow | null) {
    this.#link = link;
    this.#stream = stream;
    this.#out1 = out1;
    this.#out2 = out2;
  }

  static begin(link: Link, stream: number, channels: 1 | 2, window: number): ProcessOutput {
    return new ProcessOutput(link, stream, new Inflow(window), channels === 2 ? new Inflow(window) : null);
  }

  /** Goes on where the caller stopped; what the guest has no longer is a gap that the next offset shows. */
  static goOn(link: Link, state: RetainedState, kept: { out1: number; out2: number }, window: number): ProcessOutput {
    const out1 = continued(state.out1 as StateOutput, kept.out1, window);
    const out2 = state.out2 === null ? null : continued(state.out2, kept.out2, window);
    return new ProcessOutput(link, state.stream, out1, out2);
  }

  /** Bytes the guest may still send. */
  get outstanding(): number {
    return this.#out1.outstanding + (this.#out2?.outstanding ?? 0);
  }

  /** Returns how many bytes at the start of the piece are repeats. */
  accept(chan: number, offset: number, length: number): number {
    return this.#flow(chan).accept(offset, length);
  }

  /** EOF; returns whether it is news. */
  finish(chan: number, final: number): boolean {
    return this.#flow(chan).finish(final);
  }

  grant(chan: 1 | 2, acked: number, limit: number): void {
    const flow = chan === 1 ? this.#out1 : this.#out2;
    flow?.grant(acked, limit);
    this.tellIfDue(chan);
  }

  tellIfDue(chan: number): void {
    const flow = chan === 1 ? this.#out1 : this.#out2;
    if (flow?.due) this.#tell(chan, flow);
  }

  /** WINDOW for every channel: after a reconnect the guest waits for it. */
  tellAll(): void {
    this.#tell(1, this.#out1);
    if (this.#out2) this.#tell(2, this.#out2);
  }

  /** A new connection begins at what was acknowledged. */
  rewind(state: RetainedState): void {
    rewindTo(state.out1, this.#out1);
    if (this.#out2) rewindTo(state.out2, this.#out2);
  }

  #flow(chan: number): Inflow {
    const flow = chan === 1 ? this.#out1 : chan === 2 ? this.#out2 : null;
    if (flow === null) throw violation(`output on channel ${chan}`);
    return flow;
  }

  #tell(chan: number, flow: Inflow): void {
    flow.told();
    this.#link.sendWindow(chan, this.#stream, flow.acked, flow.limit);
  }
}

function continued(output: StateOutput, kept: number, window: number): Inflow {
  return new Inflow(window, Math.min(Math.max(kept, output.base), output.end));
}

function rewindTo(output: StateOutput | null, flow: Inflow): void {
  if (output === null || output.base > flow.acked || output.end < flow.received) {
    throw violation('output that was not acknowledged is gone');
  }
  flow.rewind();
}
