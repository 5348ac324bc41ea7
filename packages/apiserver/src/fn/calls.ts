import { createHash, randomBytes } from 'node:crypto';
import type { Edge, FnResult as EdgeResult, FnCall, Idempotency, Owner, Room } from '@vivarium/edge/edge.ts';
import { type FnLanguage, type FnRequest, type FnResult, type Image, Limits, VivError } from '@vivarium/protocol';
import { answerOf } from './answer.ts';
import { callOf } from './call.ts';
import type { Language } from './language-table.ts';
import { findLanguage, languagesOf, programsOf } from './languages.ts';
import { isMissing, ProgramFinder } from './program-finder.ts';

export type Caller = { edge: Edge; owner: Owner; idempotency: Idempotency | undefined; room: Room };

const programs = new ProgramFinder();

/** One call to its end. Throws `language_unavailable`, and what FnService.run throws. */
export async function runCall(request: FnRequest, caller: Caller): Promise<FnResult> {
  const { edge, owner, idempotency, room } = caller;
  const image = edge.images.get(request.image);
  const language = request.language === undefined ? undefined : findLanguage(languagesOf(image), request.language);
  if (request.language !== undefined && !language) {
    throw await unavailable(request, image, caller, `no language "${request.language}"`);
  }
  const call = callOf(request, language, sessionOf(request, idempotency));
  const result = await edge.fn.run(call, owner, idempotency, room).catch((error: unknown) => {
    throw namingUser(error, request);
  });
  const missing = language && missingProgram(call, language, result);
  if (missing !== undefined)
    throw await unavailable(request, image, caller, `no "${missing}", which ${language!.name} needs`);
  return answerOf(call, result);
}

/** All languages of an image, also those whose programs it lacks. */
export async function languagesIn(edge: Edge, name: string, owner: Owner, limits?: Limits): Promise<FnLanguage[]> {
  const image = edge.images.get(name);
  const languages = languagesOf(image);
  const wanted = [...new Set(languages.flatMap(programsOf))];
  const found = await programs.find(edge, image, wanted, owner, limits ?? Limits.parse({}));
  return languages.map((language) => {
    const missing = programsOf(language).filter((program) => !found.has(program));
    const { aliases, file, compile, run } = language;
    const available = missing.length === 0;
    return {
      name: language.name,
      aliases: [...aliases],
      file,
      compile: compile && [...compile],
      run: [...run],
      available,
      missing,
    };
  });
}

/** Of a step that could not start because its program is not there. What the code itself made is another matter. */
function missingProgram(call: FnCall, language: Language, { run, compile }: EdgeResult): string | undefined {
  const [program] = (run ? call.run : call.compile)?.argv ?? [];
  const last = run ?? compile;
  if (!last || program === undefined || !programsOf(language).includes(program)) return undefined;
  return isMissing(last) ? program : undefined;
}

async function unavailable(request: FnRequest, image: Image, caller: Caller, lack: string): Promise<VivError> {
  const all = await languagesIn(caller.edge, image.name, caller.owner, request.limits);
  const available = all.filter((language) => language.available).map(({ name }) => name);
  const has = available.length > 0 ? `it has ${available.join(', ')}` : 'it has none that is known here';
  return new VivError('language_unavailable', `image ${image.name} has ${lack}; ${has}`, {
    details: { image: image.name, language: request.language, available },
  });
}

/** Whichever step of a call found that there is no such user. */
function namingUser(error: unknown, { user, image }: FnRequest): unknown {
  if (!(error instanceof VivError) || error.code !== 'user_unknown' || user === undefined) return error;
  const details = { ...error.details, field: 'user' };
  return new VivError('user_unknown', `image ${image} has no user "${user}"`, { details, cause: error });
}

/** A retry of a call without a name for its session means the same session. */
function sessionOf({ session, stateful }: FnRequest, idempotency: Idempotency | undefined): string | undefined {
  if (session !== undefined || stateful === false) return session;
  if (!idempotency) return randomBytes(10).toString('hex');
  return createHash('sha256').update(`session:${idempotency.key}`).digest('hex').slice(0, 20);
}
