/** `npm run docs:api`: writes docs/openapi.json and docs/api.md; with `--check` only says whether they are as the code would make them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { openapiText } from './openapi/document.ts';
import { apiReference } from './openapi/reference.ts';

const docs = new URL('../../../docs/', import.meta.url);
const pages = { 'openapi.json': openapiText(), 'api.md': apiReference() };
const check = process.argv.includes('--check');

for (const [name, text] of Object.entries(pages)) {
  const file = new URL(name, docs);
  if (!check) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`docs/${name} is out of date: run npm run docs:api`);
    process.exitCode = 1;
  }
}
