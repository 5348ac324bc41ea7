import type { Exec, Outcome } from '@vivarium/protocol/exec.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { fromBase64, toText } from './bytes.ts';

/** How a command ended and what it wrote (the part that is kept: by default the first 16 MiB of each stream). */
export class ExecResult {
  /** Everything the node knows about the command. */
  readonly exec: Exec;
  readonly stdoutBytes: Uint8Array;
  readonly stderrBytes: Uint8Array;
  #stdout: string | undefined;
  #stderr: string | undefined;

  constructor(exec: Exec, stdoutBytes: Uint8Array, stderrBytes: Uint8Array) {
    this.exec = exec;
    this.stdoutBytes = stdoutBytes;
    this.stderrBytes = stderrBytes;
  }

  /** From the body of a unary HTTP answer. */
  static fromWire(body: Exec & { stdoutB64: string; stderrB64: string }): ExecResult {
    const { stdoutB64, stderrB64, ...exec } = body;
    return new ExecResult(exec, fromBase64(stdoutB64), fromBase64(stderrB64));
  }

  get id(): string {
    return this.exec.id;
  }

  /** As a shell would say it: the code, 128 + signal, 124 for a timeout, 137 for out of memory. */
  get exitCode(): number {
    return this.exec.exitCode ?? -1;
  }

  get outcome(): Outcome {
    return this.exec.outcome ?? { type: 'sandbox_lost' };
  }

  get ok(): boolean {
    return this.outcome.type === 'exited' && this.exitCode === 0;
  }

  /** Decoded as UTF-8; other bytes become U+FFFD. */
  get stdout(): string {
    this.#stdout ??= toText(this.stdoutBytes);
    return this.#stdout;
  }

  get stderr(): string {
    this.#stderr ??= toText(this.stderrBytes);
    return this.#stderr;
  }

  /** Quotas that were hit meanwhile. */
  get annotations(): Exec['annotations'] {
    return this.exec.annotations;
  }

  get durationMs(): number {
    return this.exec.durationMs ?? 0;
  }

  get message(): string | null {
    return this.exec.message;
  }

  /** Returns itself when the command exited with 0; throws `command_failed` (or `sandbox_lost`) otherwise. */
  check(): this {
    if (this.ok) return this;
    const { outcome } = this;
    if (outcome.type === 'sandbox_lost')
      throw new VivError('sandbox_lost', `the sandbox was lost while ${this.#what()} ran`);
    const tail = this.stderr.slice(-2000).trim();
    throw new VivError(
      'command_failed',
      `${this.#what()} ${describe(outcome)}${this.message ? `: ${this.message}` : tail ? `: ${lastLine(tail)}` : ''}`,
      {
        details: { exec: this.id, outcome, exitCode: this.exitCode, stderr: tail },
      },
    );
  }

  toJSON(): Record<string, unknown> {
    return {
      ...this.exec,
      stdout: this.stdout,
      stderr: this.stderr,
      streams: { stdout: this.exec.stdout, stderr: this.exec.stderr },
    };
  }

  #what(): string {
    const text = this.exec.argv.join(' ');
    return text.length > 80 ? `${text.slice(0, 79)}…` : text;
  }
}

/** An outcome in words. */
export function describe(outcome: Outcome): string {
  switch (outcome.type) {
    case 'exited':
      return `exited with ${outcome.code}`;
    case 'signaled':
      return `was ended by signal ${outcome.signal}`;
    case 'timeout':
      return 'ran into its time limit';
    case 'oom':
      return 'ran out of memory';
    case 'output_limit':
      return 'wrote more than its output limit';
    case 'canceled':
      return 'was canceled';
    case 'sandbox_lost':
      return 'was lost with its sandbox';
  }
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1);
}
