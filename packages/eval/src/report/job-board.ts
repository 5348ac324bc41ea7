import type { JobEvent } from '../job/event.ts';
import type { Phase } from '../trial/context.ts';
import { TRIAL_OUTCOMES, type TrialOutcome } from '../trial/outcome.ts';
import type { TrialResult } from '../trial/result.ts';
import { reasonText, rewardText } from './summary.ts';

/** What runs now. */
type Running = { name: string; task: string; phase: Phase; since: number };

/**
 * The state of a running job as lines of text: what `viv eval` draws over and over on a terminal. Pure: events in, lines
 * out, with the clock of its caller.
 */
export class JobBoard {
  total = 0;
  done = 0;
  readonly outcomes = new Map<TrialOutcome, number>();
  readonly #running = new Map<string, Running>();
  readonly #images = new Map<string, string>();
  #retries = 0;
  #startedAt: number;

  constructor(now: number) {
    this.#startedAt = now;
  }

  /** Returns a line for the scroll-back, when the event is worth one. */
  take(event: JobEvent, now: number): string | null {
    switch (event.type) {
      case 'begin':
        this.total = event.total;
        this.#startedAt = now;
        for (const result of event.done) this.#count(result);
        return event.done.length > 0 ? `${event.done.length} of ${event.total} trials were done before` : null;
      case 'phase': {
        const { trial_name: name, task_id: task } = event.trial;
        this.#images.delete(task);
        this.#running.set(name, { name, task, phase: event.phase, since: this.#running.get(name)?.since ?? now });
        return null;
      }
      case 'trial':
        this.#running.delete(event.trial.trial_name);
        this.#count(event.result);
        return resultLine(event.result);
      case 'freed':
        return null;
      case 'retry':
        this.#retries++;
        return `${event.trial.trial_name}  again: ${event.message.split('\n')[0]}`;
      case 'image': {
        const line = event.text.trim().split('\n').at(-1);
        if (line) this.#images.set(event.task, line);
        return null;
      }
      case 'warning':
        return `warning: ${event.text}`;
    }
  }

  /** The live part: progress, images being made, running trials; at most `rows` lines of `columns`. */
  lines(now: number, columns: number, rows: number): string[] {
    const seconds = (now - this.#startedAt) / 1000;
    const counts = TRIAL_OUTCOMES.filter((outcome) => this.outcomes.has(outcome));
    const tally = counts.map((outcome) => `${this.outcomes.get(outcome)} ${outcome}`).join(' · ');
    const retries = this.#retries > 0 ? ` · ${this.#retries} tried again` : '';
    const head = [
      `${bar(this.done, this.total, 24)} ${this.done}/${this.total}  ${clock(seconds)}${left(this.done, this.total, seconds)}`,
      `${tally || 'no results yet'}${retries}`,
    ];
    const trials = [...this.#running.values()].map(
      ({ name, phase, since }) => `${phase.padEnd(8)}  ${clock((now - since) / 1000)}  ${name}`,
    );
    const body = [...this.images(), ...trials];
    const room = Math.max(0, rows - head.length - 1);
    const shown = body.slice(0, room);
    if (body.length > room) shown.push(`… and ${body.length - room} more`);
    return [...head, ...shown].map((line) => printable(line).slice(0, Math.max(1, columns - 1)));
  }

  /** Images that are being made: a line each, with the last that was said of it. */
  images(): string[] {
    return [...this.#images].map(([task, line]) => printable(`image     ${task}  ${line}`));
  }

  #count(result: TrialResult): void {
    this.done++;
    const { outcome } = result.vivarium;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }
}

/** `passed  1  3.2s  task__abc`. */
export function resultLine(result: TrialResult): string {
  const { outcome, timings, suspect } = result.vivarium;
  const reason = reasonText(result);
  const parts = [
    outcome.padEnd(14),
    rewardText(result).padEnd(6),
    `${(timings.totalMs / 1000).toFixed(1)}s`.padEnd(8),
    result.trial_name,
  ];
  return printable([...parts, ...(suspect ? ['suspect'] : []), ...(reason ? [reason] : [])].join('  '));
}

function bar(done: number, total: number, width: number): string {
  const full = total === 0 ? 0 : Math.floor((done / total) * width);
  return `[${'#'.repeat(full)}${'.'.repeat(width - full)}]`;
}

function left(done: number, total: number, seconds: number): string {
  if (done < 3 || done >= total) return '';
  return `, about ${clock((seconds / done) * (total - done))} left`;
}

function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const rest = `${String(Math.floor(whole / 60) % 60).padStart(2, '0')}:${String(whole % 60).padStart(2, '0')}`;
  return whole >= 3600 ? `${Math.floor(whole / 3600)}:${rest}` : rest;
}

/** Messages may hold what a program inside wrote: nothing of it drives the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '?');
}
