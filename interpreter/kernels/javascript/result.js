/** Values and errors of code in the form in which they are sent. */
'use strict';

const { inspect } = require('node:util');

const DISPLAY = Symbol.for('Jupyter.display');
/** Representations that are longer than this are left out, with a note. */
const REPRESENTATION_CHARS = 16 * 1024 * 1024;
/** Frames of these files are the kernel's, not the code's. */
const OURS = /\((?:node:|.*\/kernels\/javascript\/)|^\s+at (?:async )?(?:node:|\/.*\/kernels\/javascript\/)/;

/** The representations of the value of a cell; undefined when it has none. */
exports.bundleOf = async function bundleOf(value) {
  return value === undefined ? undefined : await exports.displayBundle(value);
};

/** The representations of a value: those that it makes itself, else its text, and its JSON where it is plain data. */
exports.displayBundle = async function displayBundle(value) {
  if (typeof value?.[DISPLAY] === 'function') return fitting({ ...(await value[DISPLAY]()) });
  const data = { 'text/plain': inspect(value) };
  if (isPlain(value)) {
    const json = jsonOf(value);
    if (json !== undefined) data['application/json'] = json;
  }
  return fitting(data);
};

/** The message that tells of what was thrown; anything can be. */
exports.errorMessage = function errorMessage(error) {
  if (!(error instanceof Error) && typeof error?.stack !== 'string') {
    return { type: 'error', name: 'Error', value: inspect(error), traceback: '' };
  }
  const frames = String(error.stack)
    .split('\n')
    .filter((line) => !OURS.test(line));
  return { type: 'error', name: String(error.name), value: String(error.message), traceback: frames.join('\n') };
};

function isPlain(value) {
  if (Array.isArray(value)) return true;
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function jsonOf(value) {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    return undefined;
  }
}

function fitting(data) {
  for (const [kind, value] of Object.entries(data)) {
    const size = typeof value === 'string' ? value.length : (JSON.stringify(value)?.length ?? 0);
    if (size <= REPRESENTATION_CHARS) continue;
    process.stderr.write(`Left out of a result: ${kind} (${size} characters); the limit is ${REPRESENTATION_CHARS}\n`);
    delete data[kind];
  }
  return data;
}
