/**
 * Builds dist/, a package ready for `npm publish packages/sdk/dist`: JavaScript for Node ≥ 20 and browsers, with what it
 * needs of the protocol inside. Schemas stay out: their types are written out flat, so that users need no schema library.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '..');
/** Elsewhere when a folder is given: tests run side by side. */
const dist = resolve(process.argv[2] ?? join(root, 'dist'));

rmSync(dist, { recursive: true, force: true });
const program = createProgram(join(root, 'tsconfig.build.json'));
emit(program);
flattenSchemas(program);
rewriteSpecifiers();
writeManifest();

function createProgram(configFile: string): ts.Program {
  const config = ts.getParsedCommandLineOfConfigFile(
    configFile,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
  );
  return ts.createProgram(config!.fileNames, { ...config!.options, outDir: dist });
}

function emit(program: ts.Program): void {
  const diagnostics = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  if (diagnostics.length > 0) fail(diagnostics[0]!);
}

/** Replaces the declarations of every protocol file that imports schemas by its types alone, written out; its JavaScript goes. */
function flattenSchemas(program: ts.Program): void {
  const checker = program.getTypeChecker();
  const flags =
    ts.TypeFormatFlags.NoTruncation |
    ts.TypeFormatFlags.InTypeAlias |
    ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType;
  for (const source of program.getSourceFiles()) {
    if (!source.fileName.includes('/packages/protocol/src/') || !/zod/.test(source.text)) continue;
    const lines = source.statements.filter(ts.isTypeAliasDeclaration).map((alias) => {
      const type = checker.getTypeAtLocation(alias.name);
      return `export type ${alias.name.text} = ${checker.typeToString(type, source, flags)};`;
    });
    const target = join(dist, 'protocol/src', basename(source.fileName, '.ts'));
    writeFileSync(`${target}.d.ts`, `${lines.join('\n')}\n`);
    rmSync(`${target}.js`, { force: true });
  }
}

/** Packages of the workspace become relative paths; declarations name what lies beside them. */
function rewriteSpecifiers(): void {
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(js|d\.ts)$/.test(name)) continue;
    const file = join(dist, name);
    const text = readFileSync(file, 'utf8')
      .replace(
        /(['"])@vivarium\/protocol\/([\w-]+)\.ts\1/g,
        (_, quote, module) => quote + besides(file, join(dist, 'protocol/src', module)) + quote,
      )
      .replace(/((?:from|import\()\s*['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2');
    writeFileSync(file, text);
  }
}

function besides(from: string, to: string): string {
  const path = relative(dirname(from), to);
  return `${path.startsWith('.') ? path : `./${path}`}.js`;
}

function writeManifest(): void {
  const { name, version, description, license, type, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const { '@vivarium/protocol': _, ...needed } = dependencies;
  const entry = (file: string) => ({ types: `./sdk/src/${file}.d.ts`, default: `./sdk/src/${file}.js` });
  const exports = { '.': entry('index'), './node': entry('node'), './error': entry('error'), './*.ts': entry('*') };
  const manifest = {
    name,
    version,
    description,
    license,
    type,
    engines: { node: '>=20.3' },
    sideEffects: false,
    exports,
    dependencies: needed,
  };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(join(root, 'README.md'), join(dist, 'README.md'));
}

function fail(diagnostic: ts.Diagnostic): never {
  throw new Error(
    `${diagnostic.file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')}`,
  );
}
