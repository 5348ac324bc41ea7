/** What code finds in its global scope beside what Node has there. */
'use strict';

const { createRequire } = require('node:module');
const { join } = require('node:path');
const { displayBundle } = require('./result.js');

/** `process.exit` in a cell ends the cell, not the kernel. */
class ProcessExit extends Error {
  constructor(code) {
    super(String(code));
    this.name = 'ProcessExit';
  }
}

/** `show(data)` displays a bundle of representations by MIME type, or the promise of one. */
exports.prepareGlobals = function prepareGlobals(show) {
  const require = (id) => here()(id);
  Object.defineProperties(require, {
    resolve: { get: () => here().resolve },
    cache: { get: () => here().cache },
    main: { value: undefined },
  });
  const module = { exports: {}, require };
  Object.assign(globalThis, { require, module, exports: module.exports });
  globalThis.display = (value) => show(displayBundle(value));
  globalThis.$$ = mimeHelpers(show);
  process.exit = (code = process.exitCode ?? 0) => {
    throw new ProcessExit(code);
  };
};

/** Packages are looked for from the working directory on. */
function here() {
  return createRequire(join(process.cwd(), 'cell.js'));
}

/** `$$.html('<b>…</b>')` and so on, as notebooks for JavaScript have them. */
function mimeHelpers(show) {
  const of = (kind) => (value) => show({ [kind]: String(value) });
  return {
    mime: (data) => show({ ...data }),
    text: of('text/plain'),
    html: of('text/html'),
    svg: of('image/svg+xml'),
    png: of('image/png'),
    jpeg: of('image/jpeg'),
    markdown: of('text/markdown'),
    latex: of('text/latex'),
    json: (value) => show({ 'application/json': value }),
  };
}
