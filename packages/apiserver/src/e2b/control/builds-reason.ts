import { VivError } from '@vivarium/protocol';
import type { E2bTemplateStep } from '@vivarium/protocol/e2b/template.ts';
import type { Logger } from 'pino';
import type { BuildRow } from '../store/build-table.ts';
import { stepText } from './builds-steps.ts';

/** Why a build failed, in words of E2B's own server where there are some, and at which step: `base`, its number from 1, or `finalize`. */
export function buildReason(
  thrown: unknown,
  steps: readonly E2bTemplateStep[],
  log: Pick<Logger, 'error'>,
): NonNullable<BuildRow['reason']> {
  const error = VivError.from(thrown);
  if (error.code === 'internal') log.error({ err: thrown }, 'a template build failed by a fault of ours');
  const { step, line } = error.details as { step?: string; line?: number };
  const number = typeof line === 'number' ? line : undefined;
  const current = number === undefined || number < 1 ? undefined : steps[number - 1];
  return {
    message: messageOf(error, current, number),
    step: step ?? (number === undefined ? '' : number < 1 ? 'base' : `${number}`),
  };
}

function messageOf(error: VivError, step: E2bTemplateStep | undefined, number: number | undefined): string {
  const plain = number === 0 ? baseMessage(error) : withoutPlace(error.message, step, number);
  if (step?.type.toUpperCase() !== 'RUN') return plain;
  const command = step.args?.[0] ?? '';
  const shown = command.length > 1000 ? `${command.slice(0, 1000)}…` : command;
  return `failed to run command '${shown}': ${outcomeOf(error, step) ?? plain}`;
}

/** Nobody sees the script that makes a base ready: the last line it said is the reason. */
function baseMessage({ message, details }: VivError): string {
  const output = typeof details.output === 'string' ? details.output.trim() : '';
  return output === '' ? message.replace(/^step:0: /, '') : output.split('\n').at(-1)!;
}

/** How E2B's server words the end of a command. */
function outcomeOf(error: VivError, step: E2bTemplateStep): string | undefined {
  const { cause } = error;
  if (cause instanceof VivError && cause.code === 'user_unknown')
    return `command failed: unauthenticated: invalid username: '${step.args?.[1] ?? 'user'}'`;
  const outcome = error.details.outcome as { type?: string; code?: number } | undefined;
  return outcome?.type === 'exited' ? `exit status ${outcome.code}` : undefined;
}

/** The builder's errors begin with the place of the step, which is told apart. */
function withoutPlace(message: string, step: E2bTemplateStep | undefined, number: number | undefined): string {
  if (number === undefined) return message;
  const place = `step:${number}: `;
  if (!message.startsWith(place)) return message;
  const rest = message.slice(place.length);
  const text = step && `${stepText(step)}: `;
  return text && rest.startsWith(text) ? rest.slice(text.length) : rest;
}
