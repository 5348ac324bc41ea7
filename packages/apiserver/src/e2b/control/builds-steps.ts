import type { BuildStep, StepAction } from '@vivarium/edge/edge.ts';
import { Env, UserSpec, VivError } from '@vivarium/protocol';
import type { E2bTemplateStep } from '@vivarium/protocol/e2b/template.ts';
import { ENSURE_USER, PREPARE } from './builds-scripts.ts';

/** What a build starts from. `prepared`: the image has the user and the directories that steps expect. */
export type BuildOrigin = { image: string; label: string; prepared: boolean; home: string | null };

export type BuildProgram = {
  steps: BuildStep[];
  /** Archives that COPY steps name. */
  files: string[];
};

/** Who steps run as, until a USER says otherwise. */
const USER = 'user';
const SHOWN_MAX = 160;

/**
 * The builder's steps for those of a client. Number 0 stands for the base, then each has its own place. After the first step that is
 * forced all are. Throws `build_failed` with the step's number for what can't be a step.
 */
export function buildProgram(origin: BuildOrigin, steps: readonly E2bTemplateStep[], force: boolean): BuildProgram {
  const program = new Program(force);
  program.base(origin);
  for (const [index, step] of steps.entries()) program.step(step, index + 1);
  return { steps: program.steps, files: [...program.files] };
}

/** `RUN apt-get update`: the step on one line, for people. */
export function stepText({ type, args }: E2bTemplateStep): string {
  const text = [type.toUpperCase(), ...(args ?? [])].join(' ').trim().split('\n')[0]!;
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

class Program {
  readonly steps: BuildStep[] = [];
  readonly files = new Set<string>();
  #fresh: boolean;
  #user = USER;
  /** No WORKDIR yet: each user's home is where its commands run. */
  #atHome = false;
  #number = 0;
  #text = '';

  constructor(force: boolean) {
    this.#fresh = force;
  }

  base({ image, label, prepared, home }: BuildOrigin): void {
    this.#text = label;
    this.#put({ type: 'from', image });
    if (!prepared) this.#root(PREPARE);
    this.#put({ type: 'user', user: USER });
    if (home === null) return;
    this.#atHome = true;
    if (!prepared) this.#put({ type: 'workdir', path: home });
  }

  step(step: E2bTemplateStep, number: number): void {
    this.#number = number;
    this.#text = stepText(step);
    this.#fresh ||= step.force === true;
    const args = step.args ?? [];
    const type = step.type.toUpperCase();
    if (type === 'RUN') this.#run(args);
    else if (type === 'COPY' || type === 'ADD') this.#copy(type, args, step.filesHash ?? null);
    else if (type === 'ENV' || type === 'ARG') this.#env(type, args);
    else if (type === 'WORKDIR') this.#workdir(args);
    else if (type === 'USER') this.#become(args);
    else throw this.#failed(`unknown step type '${step.type}'; there are RUN, COPY, ENV, WORKDIR and USER`);
  }

  #run([command, user = '']: string[]): void {
    if (!command) throw this.#failed('RUN requires command argument');
    if (command.includes('\0')) throw this.#failed('a command holds no NUL');
    const other = user !== '' && user !== this.#user;
    if (other) this.#setUser(user);
    // A workdir that nobody set is the home of whoever runs it.
    const argv = other && this.#atHome ? ['cd && eval "$0"', command] : [command];
    this.#put({ type: 'run', argv: ['/bin/bash', '-l', '-c', ...argv] });
    if (other) this.#setUser(this.#user);
  }

  #copy(type: string, [source, target, user = '', mode = '']: string[], hash: string | null): void {
    if (!source || !target) throw this.#failed(`${type} requires a local path and a container path argument`);
    if (hash === null) throw this.#failed(`${type} requires files hash to be set`);
    if (mode !== '' && !/^[0-7]{1,4}$/.test(mode)) throw this.#failed(`${type}: "${mode}" is no octal mode`);
    this.files.add(hash);
    const fixed = fixedPart(source);
    this.#put({
      type: 'copy',
      source: fixed === '' ? hash : `${hash}/${fixed}`,
      target,
      owner: user === '' ? this.#user : user,
      mode: mode === '' ? null : mode,
    });
  }

  #env(type: string, args: string[]): void {
    if (args.length === 0) throw this.#failed(`${type} does not support passing no arguments`);
    if (args.length % 2 !== 0) throw this.#failed(`${type} requires both a key and value arguments`);
    const values: [string, string][] = [];
    for (let at = 0; at < args.length; at += 2) {
      // As an environment has it: a name ends at the first "=". Clients that cut quoted values at their blanks rely on it.
      const [, name = '', value = ''] = /^([^=]*)=([\s\S]*)$/.exec(`${args[at]}=${args[at + 1]}`)!;
      const parsed = Env.safeParse({ [name]: value });
      if (!parsed.success) throw this.#failed(`${type} ${name.slice(0, 100)}: ${parsed.error.issues[0]?.message}`);
      values.push([name, value]);
    }
    this.#put({ type: 'env', values });
  }

  #workdir([path]: string[]): void {
    if (!path) throw this.#failed('WORKDIR requires a path argument');
    // Relative to nothing yet: that is the root, as E2B has it.
    this.#put({ type: 'workdir', path: this.#atHome && !path.startsWith('/') ? `/${path}` : path });
    this.#atHome = false;
  }

  #become([user, sudo = '']: string[]): void {
    if (!user) throw this.#failed('USER requires a username argument');
    if (!UserSpec.safeParse(user).success)
      throw this.#failed(`failed to create user: "${user.slice(0, 100)}" is no user name`);
    const given = user === 'root' || (user === USER && sudo !== 'true');
    if (!given) this.#root(ENSURE_USER, user, sudo === 'true' ? 'sudo' : '');
    this.#setUser(user);
    this.#user = user;
    if (this.#atHome) this.#put({ type: 'workdir', path: user === 'root' ? '/root' : `/home/${user.split(':')[0]}` });
  }

  #setUser(user: string): void {
    if (!UserSpec.safeParse(user).success)
      throw this.#failed(`command failed: unauthenticated: invalid username: '${user.slice(0, 100)}'`);
    this.#put({ type: 'user', user });
  }

  /** Runs a script of ours as root. */
  #root(script: string, ...args: string[]): void {
    this.#put({ type: 'user', user: 'root' });
    this.#put({ type: 'run', argv: ['/bin/sh', '-c', script, 'viv', ...args] });
    this.#put({ type: 'user', user: this.#user });
  }

  #put(action: StepAction): void {
    this.steps.push({ action, number: this.#number, text: this.#text, fresh: this.#fresh });
  }

  #failed(message: string): VivError {
    return new VivError('build_failed', message, { details: { line: this.#number } });
  }
}

/** The path up to the first part that is a pattern: what the pattern matched is all that the archive holds. */
function fixedPart(source: string): string {
  const parts: string[] = [];
  for (const part of source.split('/')) {
    if (/[*?[{\\]/.test(part)) break;
    if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}
