/** What the published clients offer, read from their declarations: nothing of it can be forgotten in a table or a test. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const resolve = createRequire(import.meta.url).resolve;

/** How the methods of a class are written in docs/e2b.md: static ones, and those of an object. */
type Names = { static?: string; of?: string };

const E2B: Record<string, Names> = {
  SandboxApi: { static: 'Sandbox' },
  Sandbox: { static: 'Sandbox', of: 'sandbox' },
  Commands: { of: 'sandbox.commands' },
  CommandHandle: { of: 'commandHandle' },
  Filesystem: { of: 'sandbox.files' },
  WatchHandle: { of: 'watchHandle' },
  Pty: { of: 'sandbox.pty' },
  Git: { of: 'sandbox.git' },
  SandboxPaginator: { of: 'sandboxPaginator' },
  SnapshotPaginator: { of: 'snapshotPaginator' },
  SecretPaginator: { of: 'secretPaginator' },
  TemplateBase: { static: 'Template', of: 'template' },
  Volume: { static: 'Volume', of: 'volume' },
  Secret: { static: 'Secret' },
};
const INTERPRETER: Record<string, Names> = { Sandbox: { static: 'CodeSandbox', of: 'codeSandbox' } };

/** Every public method of both clients, sorted, such as `Sandbox.create`, `sandbox.files.read`, `codeSandbox.runCode`. */
export function clientMethods(): string[] {
  const all = [...methodsOf('e2b', E2B), ...methodsOf('@e2b/code-interpreter', INTERPRETER)];
  return [...new Set(all)].sort();
}

function methodsOf(packageName: string, classes: Record<string, Names>): string[] {
  const source = declarations(packageName);
  const found = source.statements
    .filter(ts.isClassDeclaration)
    .map((declared) => ({ declared, names: classes[declared.name?.text ?? ''] }));
  const missing = Object.keys(classes).filter((name) => !found.some(({ declared }) => declared.name?.text === name));
  if (missing.length > 0) throw new Error(`${packageName} has no class ${missing.join(', ')} any more`);
  return found.flatMap(({ declared, names }) => (names === undefined ? [] : publicMethods(declared, names)));
}

function publicMethods(declared: ts.ClassDeclaration, names: Names): string[] {
  return declared.members.filter(ts.isMethodDeclaration).flatMap((method) => {
    const flags = ts.getCombinedModifierFlags(method);
    const owner = flags & ts.ModifierFlags.Static ? names.static : names.of;
    const hidden = flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected);
    return hidden || owner === undefined ? [] : [`${owner}.${method.name.getText()}`];
  });
}

function declarations(packageName: string): ts.SourceFile {
  const file = join(dirname(resolve(packageName)), 'index.d.ts');
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
}
