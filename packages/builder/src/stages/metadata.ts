import { posix } from 'node:path';
import { Labels, UserSpec } from '@vivarium/protocol';
import type { Instruction } from '../dockerfile/instruction.ts';
import { jsonWords, pairs, shellWords } from '../dockerfile/words.ts';
import { healthcheckOf } from './healthcheck.ts';
import type { StageState } from './stage-state.ts';

type Handler = (state: StageState, at: Instruction, warn: (message: string) => void) => void;

/** Instructions that change the config only: no sandbox, no layer. */
export const METADATA: Record<string, Handler> = {
  ENV: (state, at) => {
    const values = requirePairs(state, at).map(
      ([name, value]) => [state.expand(name, at), state.expand(value, at)] as const,
    );
    for (const [name, value] of values) {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw state.complain(at, `"${name}" is no name of a variable`);
      state.config.env[name] = value;
    }
  },
  LABEL: (state, at, warn) => {
    for (const [rawName, rawValue] of requirePairs(state, at)) {
      const label = { [state.expand(rawName, at)]: state.expand(rawValue, at) };
      if (Labels.safeParse(label).success) Object.assign(state.config.labels, label);
      else warn(`the label ${Object.keys(label)[0]} is left out: names have at most 63 characters, values 255`);
    }
  },
  WORKDIR: (state, at) => {
    const path = state.expand(wholeWord(at.rest), at);
    if (path === '') throw state.complain(at, 'the path is empty');
    const cwd = posix.resolve(state.config.cwd ?? '/', path);
    state.config.cwd = cwd;
    if (cwd === '/') return;
    state.directories.push({ path: cwd, user: state.config.user ?? null });
    state.directoriesFrom = at;
  },
  USER: (state, at) => {
    const user = state.expand(at.rest.trim(), at);
    if (!UserSpec.safeParse(user).success)
      throw state.complain(at, `"${user}" is no user: name, uid, name:group or uid:gid`);
    state.config.user = user;
  },
  SHELL: (state, at) => {
    const shell = jsonWords(at.rest);
    if (!shell || shell.length === 0) throw state.complain(at, 'it takes JSON, as SHELL ["/bin/bash", "-c"]');
    state.config.shell = shell;
  },
  CMD: (state, at) => {
    state.config.cmd = commandOf(state, at);
    state.ownCmd = true;
  },
  ENTRYPOINT: (state, at) => {
    state.config.entrypoint = commandOf(state, at);
    if (!state.ownCmd) delete state.config.cmd;
  },
  EXPOSE: (state, at) => {
    const ports = shellWords(at.rest, state.dockerfile.escapeChar).flatMap((word) =>
      portsOf(state, at, state.expand(word, at)),
    );
    state.config.exposedPorts = [...new Set([...(state.config.exposedPorts ?? []), ...ports])];
  },
  STOPSIGNAL: (state, at) => {
    const signal = state.expand(at.rest.trim(), at);
    if (!/^(SIG)?[A-Z0-9+-]{1,16}$/.test(signal)) throw state.complain(at, `"${signal}" is no signal`);
    state.config.stopSignal = signal;
  },
  HEALTHCHECK: (state, at) => {
    state.config.healthcheck = healthcheckOf(state, at);
  },
  VOLUME: (_state, _at, warn) => warn('VOLUME has no meaning here: the directory is an ordinary one'),
  MAINTAINER: (_state, _at, warn) => warn('MAINTAINER is left out: use LABEL'),
  ONBUILD: (_state, _at, warn) =>
    warn('ONBUILD is left out: images have no triggers; repeat the instruction where it is to happen'),
};

function requirePairs(state: StageState, at: Instruction): [string, string][] {
  const result = pairs(at.rest, state.dockerfile.escapeChar);
  if (result) return result;
  throw state.complain(at, 'it takes NAME=VALUE pairs', 'Quote values that have blanks.');
}

/** JSON form as it is, shell form by the shell. */
export function commandOf(state: StageState, at: Instruction): string[] {
  return jsonWords(at.rest) ?? (at.rest === '' ? [] : [...state.shell, at.rest]);
}

/** A path may have blanks; quotes around it are taken off by the expansion. */
function wholeWord(rest: string): string {
  return rest.trim();
}

const RANGE_MAX = 1000;

function portsOf(state: StageState, at: Instruction, text: string): string[] {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(tcp|udp|sctp))?$/.exec(text.toLowerCase());
  const first = Number(match?.[1]);
  const last = Number(match?.[2] ?? first);
  if (!match || last < first || last > 65_535 || last - first > RANGE_MAX)
    throw state.complain(at, `"${text}" is no port, as 8080, 53/udp or 7000-7010`);
  return Array.from({ length: last - first + 1 }, (_, i) => `${first + i}/${match[3] ?? 'tcp'}`);
}
