/** Builds dist/, a package ready for `npm publish packages/eval/dist`: the runner as JavaScript for Node ≥ 20, on the published SDK. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '..');
/** Elsewhere when a folder is given: tests run side by side. */
const dist = resolve(process.argv[2] ?? join(root, 'dist'));

rmSync(dist, { recursive: true, force: true });
compile();
writeManifest();

function compile(): void {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
  const config = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.build.json'), {}, host)!;
  const program = ts.createProgram(config.fileNames, { ...config.options, outDir: join(dist, 'src') });
  const diagnostics = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  if (diagnostics.length > 0) fail(diagnostics[0]!);
}

function writeManifest(): void {
  const { name, version, description, license, type, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const manifest = {
    name,
    version,
    description,
    license,
    type,
    engines: { node: '>=20.11' },
    exports: { '.': { types: './src/index.d.ts', default: './src/index.js' } },
    dependencies,
  };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function fail(diagnostic: ts.Diagnostic): never {
  throw new Error(
    `${diagnostic.file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')}`,
  );
}
