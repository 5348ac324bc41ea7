/** Cells rewritten so that their declarations outlive them. Positions in the text are kept where that is possible. */
'use strict';

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression', 'MethodDefinition']);
const MODULE_NODES = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportDefaultDeclaration',
  'ExportAllDeclaration',
]);

/** Whether something at the top of the program has to be awaited. */
exports.hasAwait = function hasAwait(node) {
  if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await) || MODULE_NODES.has(node.type))
    return true;
  if (FUNCTIONS.has(node.type)) return false;
  return children(node).some(hasAwait);
};

/** A script whose value is that of its last statement. `let`, `const` and `class` at its top become `var`. */
exports.syncCell = function syncCell(source, program) {
  const edits = new Edits(source);
  for (const node of program.body) {
    if (node.type === 'ClassDeclaration') {
      edits.insert(node.start, `var ${node.id.name} = `);
      edits.insert(node.end, ';');
    }
    if (node.type !== 'VariableDeclaration' || node.kind === 'var') continue;
    edits.replace(node.start, node.start + node.kind.length, 'var'.padEnd(node.kind.length));
    for (const each of node.declarations) if (each.init === null) edits.insert(each.end, ' = undefined');
  }
  return edits.text();
};

/** A script whose value is a promise of the value of its last expression. */
exports.asyncCell = function asyncCell(source, program) {
  const edits = new Edits(source);
  const names = new Set();
  const functions = [];
  program.body.forEach((node, index) => {
    const inner = exported(node, edits);
    if (inner === undefined) return;
    if (inner.type === 'FunctionDeclaration') functions.push(inner.id.name);
    else if (inner.type === 'ClassDeclaration') declareClass(inner, edits, names);
    else if (inner.type === 'VariableDeclaration') declareVariables(inner, edits, names);
    else if (inner.type === 'ImportDeclaration') importNames(inner, edits, names);
    else if (index === program.body.length - 1) returnValue(inner, edits);
  });
  const globals = names.size > 0 ? `var ${[...names].join(', ')}; ` : '';
  const hoisted = functions.map((name) => `globalThis.${name} = ${name}; `).join('');
  return `${globals}(async () => { ${hoisted}${edits.text()}\n})()`;
};

/** What an `export` exports, whose keyword is taken away; undefined when nothing is left of it. */
function exported(node, edits) {
  if (node.type === 'ExportNamedDeclaration' && node.declaration) {
    edits.replace(node.start, node.declaration.start, '');
    return node.declaration;
  }
  if (node.type === 'ExportDefaultDeclaration' && !/Declaration$/.test(node.declaration.type)) {
    edits.replace(node.start, node.declaration.start, '');
    return { type: 'ExpressionStatement', expression: node.declaration, start: node.declaration.start, end: node.end };
  }
  if (!node.type.startsWith('Export')) return node;
  edits.replace(node.start, node.end, ';');
  return undefined;
}

function declareClass(node, edits, names) {
  names.add(node.id.name);
  edits.insert(node.start, `${node.id.name} = `);
  edits.insert(node.end, ';');
}

/** `const { a } = b, c = d` becomes `void (({ a } = b), (c = d))`. */
function declareVariables(node, edits, names) {
  for (const each of node.declarations) for (const name of namesIn(each.id)) names.add(name);
  edits.replace(node.start, node.declarations[0].start, 'void (');
  for (const each of node.declarations) {
    edits.insert(each.start, '(');
    edits.insert(each.end, each.init === null && node.kind !== 'var' ? ' = undefined)' : ')');
  }
  edits.insert(node.declarations.at(-1).end, ')');
}

/** `import a, { b as c } from 'm'` becomes `({ default: a, b: c } = await import('m'))`. A prefix `npm:` is taken away. */
function importNames(node, edits, names) {
  const target = JSON.stringify(String(node.source.value).replace(/^npm:((?:@[^/]+\/)?[^@/]+)(?:@[^/]+)?/, '$1'));
  const attributes = (node.attributes ?? []).map(({ key, value }) => `${key.name ?? key.raw}: ${value.raw}`);
  const loaded = `await import(${target}${attributes.length > 0 ? `, { with: { ${attributes.join(', ')} } }` : ''})`;
  const picked = [];
  let whole = '';
  for (const { type, local, imported } of node.specifiers) {
    names.add(local.name);
    if (type === 'ImportNamespaceSpecifier') whole = `${local.name} = `;
    else
      picked.push(`${type === 'ImportDefaultSpecifier' ? 'default' : (imported.raw ?? imported.name)}: ${local.name}`);
  }
  const pattern = picked.length > 0 ? `{ ${picked.join(', ')} } = ` : '';
  edits.replace(node.start, node.end, `;(${pattern}${whole}${loaded});`);
}

function returnValue(node, edits) {
  if (node.type !== 'ExpressionStatement') return;
  edits.insert(node.start, 'return (');
  edits.insert(node.expression.end, ')');
}

/** Names that a pattern binds. */
function namesIn(pattern) {
  if (pattern.type === 'Identifier') return [pattern.name];
  if (pattern.type === 'ObjectPattern')
    return pattern.properties.flatMap((each) => namesIn(each.value ?? each.argument));
  if (pattern.type === 'ArrayPattern') return pattern.elements.filter(Boolean).flatMap(namesIn);
  return namesIn(pattern.left ?? pattern.argument);
}

function children(node) {
  return Object.values(node)
    .flat()
    .filter((value) => typeof value?.type === 'string');
}

/** Changes to a text by positions in the original. Those at one position stand in the order in which they were made. */
class Edits {
  #source;
  #edits = [];

  constructor(source) {
    this.#source = source;
  }

  insert(at, text) {
    this.replace(at, at, text);
  }

  replace(start, end, text) {
    this.#edits.push({ start, end, text, order: this.#edits.length });
  }

  text() {
    let done = 0;
    let text = '';
    for (const edit of this.#edits.sort((a, b) => a.start - b.start || a.order - b.order)) {
      text += this.#source.slice(done, edit.start) + edit.text;
      done = Math.max(done, edit.end);
    }
    return text + this.#source.slice(done);
  }
}
