import { type Image, LanguageName, VivError } from '@vivarium/protocol';
import { z } from 'zod';
import { LANGUAGE_TABLE, type Language } from './language-table.ts';

/** An image adds a language, or says how one of the table is run, with a label of this name and the language’s; its value is JSON. */
export const LANGUAGE_LABEL = 'viv.language.';

const words = z.array(z.string().min(1)).min(1);
const Label = z.strictObject({
  file: z.string().regex(/^[^/\0]{1,200}$/, 'is the name of a file'),
  compile: words.optional(),
  run: words,
  aliases: z.array(LanguageName).optional(),
});

/** All that an image could have, by name. Labels come first. Throws `invalid_argument` naming a label that makes no sense. */
export function languagesOf(image: Image): Language[] {
  const own = Object.entries(image.config.labels)
    .filter(([key]) => key.startsWith(LANGUAGE_LABEL))
    .map(([key, value]) => fromLabel(image.name, key, value));
  const names = new Set(own.map(({ name }) => name));
  return [...own, ...LANGUAGE_TABLE.filter(({ name }) => !names.has(name))];
}

/** By its name, else by an alias. */
export function findLanguage(languages: readonly Language[], word: string): Language | undefined {
  const lower = word.toLowerCase();
  const named = (test: (language: Language) => boolean) => languages.find(test);
  return (
    named(({ name }) => name === lower) ?? named(({ aliases }) => aliases.some((one) => one.toLowerCase() === lower))
  );
}

/** What must be in PATH for it. */
export function programsOf({ compile, run }: Pick<Language, 'compile' | 'run'>): string[] {
  return [compile?.[0], run[0]].filter((program) => program !== undefined && !program.includes('/')) as string[];
}

function fromLabel(image: string, key: string, value: string): Language {
  const name = key.slice(LANGUAGE_LABEL.length).toLowerCase();
  const parsed = Label.safeParse(json(value));
  if (!parsed.success || !LanguageName.safeParse(name).success) {
    const [issue] = parsed.error?.issues ?? [];
    const reason = issue ? `${issue.path.join('.') || 'its value'}: ${issue.message}` : 'its name';
    throw new VivError('invalid_argument', `label ${key} of image ${image} describes no language (${reason})`, {
      hint: 'The value is JSON with `file`, `run`, maybe `compile` and `aliases`; see docs/fn.md.',
      details: { image, label: key },
    });
  }
  const { file, compile = null, run, aliases = [] } = parsed.data;
  return { name, aliases, file, compile, run };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
