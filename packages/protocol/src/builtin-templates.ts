/**
 * E2B's templates that come with a node: the image of each, and the recipe that makes it. A recipe that changes gets another version.
 * No schema library here: clients use it too.
 */
export const BUILTIN_TEMPLATES = {
  base: { image: 'e2b/base@1', builtin: 'e2b-base' },
  'code-interpreter-v1': { image: 'e2b/code-interpreter@1', builtin: 'e2b-code-interpreter' },
} as const;
export type BuiltinTemplate = keyof typeof BUILTIN_TEMPLATES;

export function isBuiltinTemplate(name: string): name is BuiltinTemplate {
  return Object.hasOwn(BUILTIN_TEMPLATES, name);
}
