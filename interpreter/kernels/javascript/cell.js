/** From the text of a cell to a function that runs it and returns the value of its last expression. */
'use strict';

const vm = require('node:vm');
const { stripTypeScriptTypes } = require('node:module');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const { asyncCell, hasAwait, syncCell } = require('./rewrite.js');

const PARSER = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowHashBang: true,
};

/**
 * Throws SyntaxError when the text is no program. What is declared at the top of a cell is global and may be declared again; with
 * `await` or `import` at the top the cell runs as an async function.
 */
exports.compileCell = function compileCell(text, language, count) {
  const code = language === 'typescript' ? stripTypeScriptTypes(text, { mode: 'transform' }) : text;
  const filename = `cell-${count}.${language === 'typescript' ? 'ts' : 'js'}`;
  const { source, program } = parsed(code, filename);
  const isAsync = hasAwait(program);
  const rewritten = isAsync ? asyncCell(source, program) : syncCell(source, program);
  const script = new vm.Script(rewritten, {
    filename,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const isValue = isAsync || program.body.at(-1)?.type === 'ExpressionStatement';
  return () => {
    const value = script.runInThisContext({ breakOnSigint: true, displayErrors: false });
    return isValue ? value : undefined;
  };
};

/** A cell that begins with a brace is an object where it can be one, as in a console; else a block. */
function parsed(code, filename) {
  if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
    const source = `(${code.trim()}\n)`;
    try {
      return { source, program: acorn.parse(source, PARSER) };
    } catch {
      // It is a block.
    }
  }
  try {
    return { source: code, program: acorn.parse(code, PARSER) };
  } catch (error) {
    // Node's own message has the line; where Node finds nothing wrong, ours must do.
    new vm.Script(code, { filename });
    throw new SyntaxError(error.message);
  }
}
