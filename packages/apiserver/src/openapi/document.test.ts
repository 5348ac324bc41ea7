import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ROUTES } from '@vivarium/protocol/routes.ts';
import { openapiDocument, openapiText } from './document.ts';
import { apiReference } from './reference.ts';

const committed = (name: string) => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8');

test('docs/openapi.json is what the code says (else run npm run docs:api)', () => {
  assert.equal(committed('openapi.json'), openapiText());
});

test('docs/api.md is what the code says (else run npm run docs:api)', () => {
  assert.equal(committed('api.md'), apiReference());
});

test('every route is an operation of the document and every reference in it resolves', () => {
  const document = openapiDocument();
  const operations = Object.values(document.paths ?? {}).flatMap((path) =>
    Object.values(path as object).map((operation) => (operation as { operationId: string }).operationId),
  );
  assert.deepEqual(operations.sort(), Object.keys(ROUTES).sort());
  for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
    assert.ok(document.components?.schemas?.[name!], name);
});
