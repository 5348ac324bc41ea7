import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { CAN_NOT, type Served, serve } from './served.ts';

describe('the HTTP side of the code interpreter', { skip: CAN_NOT, timeout: 120_000 }, () => {
  let served: Served;
  before(async () => {
    served = await serve();
  });
  after(() => served.close());
  const call = (method: string, path: string, body?: string) =>
    fetch(`${served.url}${path}`, { method, ...(body !== undefined && { body }) });

  test('health is told to everybody', async () => {
    const answer = await call('GET', '/health');
    assert.deepEqual([answer.status, await answer.text()], [200, '"OK"']);
  });

  test('a refusal has its reason as text and in the status line, which is all that the client shows', async () => {
    const answer = await call('POST', '/execute', '{"code":"1","language":"cobol"}');
    const reason = "Language 'cobol' is not supported: there are python, javascript, typescript, bash, r, java";
    assert.deepEqual([answer.status, answer.statusText, await answer.text()], [400, reason, reason]);
  });

  test('every wrong request has a status of its own', async () => {
    const wrong: [string, string, string | undefined, number][] = [
      ['GET', '/nowhere', undefined, 404],
      ['GET', '/execute', undefined, 405],
      ['PUT', '/contexts', '{}', 405],
      ['DELETE', '/contexts/none', undefined, 404],
      ['POST', '/contexts/none/restart', undefined, 404],
      ['POST', '/execute', '{"code":"1","context_id":"none"}', 404],
      ['POST', '/execute', '{"code":"1","context_id":"a","language":"python"}', 400],
      ['POST', '/execute', '{"code":1}', 400],
      ['POST', '/execute', '[]', 400],
      ['POST', '/execute', '{', 400],
      ['POST', '/execute', '{"code":"1","language":"bash","env_vars":{"A":1}}', 400],
      ['POST', '/execute', '{"code":"1","language":"bash","env_vars":{"A=B":"1"}}', 400],
      ['POST', '/execute', '{"code":"1","language":"bash","env_vars":[]}', 400],
      ['POST', '/contexts', '{"language":7}', 400],
      ['POST', '/contexts', '{"language":"bash","cwd":"/no/such/place"}', 400],
      ['POST', '/contexts', '{"language":"bash","cwd":""}', 400],
    ];
    for (const [method, path, body, status] of wrong)
      assert.equal((await call(method, path, body)).status, status, `${method} ${path} ${body}`);
  });

  test('a query is no part of the path, and one connection carries request after request', async () => {
    const two = 'GET /health?source=ci HTTP/1.1\r\nhost: x\r\n\r\nGET /health HTTP/1.1\r\nconnection: close\r\n\r\n';
    assert.equal((await served.raw(two)).match(/HTTP\/1\.1 200 OK/g)?.length, 2);
  });

  test('a body in chunks, and one that asks first, are read', async () => {
    const head = 'POST /contexts/none/restart HTTP/1.1\r\nconnection: close\r\n';
    const chunked = await served.raw(`${head}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`);
    assert.match(chunked, /^HTTP\/1\.1 404/);
    const asked = await served.raw(`${head}expect: 100-continue\r\ncontent-length: 2\r\n\r\n{}`);
    assert.match(asked, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 404/);
  });

  test('what is too long is refused before it is read', async () => {
    assert.match(await served.raw(`GET /health HTTP/1.1\r\nx: ${'a'.repeat(40_000)}\r\n`), /^HTTP\/1\.1 431/);
    assert.match(await served.raw('POST /execute HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n'), /^HTTP\/1\.1 413/);
    assert.match(
      await served.raw('POST /execute HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n'),
      /^HTTP\/1\.1 413/,
    );
  });

  test('bytes that are no HTTP are refused, and the server goes on', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
        const answer = await served.raw(Buffer.concat([Buffer.from(bytes), Buffer.from('\r\n\r\n')]));
        assert.match(answer, /^(HTTP\/1\.1 4\d\d |$)/);
      }),
      { numRuns: 100 },
    );
    assert.equal((await call('GET', '/health')).status, 200);
  });

  test('contexts are listed oldest first, and there is an end to them', async () => {
    const listed = async () =>
      (await (await call('GET', '/contexts')).json()) as { id: string; language: string; cwd: string }[];
    const before = await listed();
    assert.deepEqual(before.map(({ language }) => language).slice(0, 2), ['python', 'javascript']);
    const made: string[] = [];
    for (;;) {
      const answer = await call('POST', '/contexts', '{"language":"bash","cwd":"/tmp"}');
      if (answer.status !== 200) {
        assert.deepEqual([answer.status, answer.statusText], [429, 'There are 64 contexts already; remove one']);
        break;
      }
      made.push(((await answer.json()) as { id: string }).id);
    }
    assert.deepEqual(
      (await listed()).slice(before.length).map(({ id, cwd }) => [id, cwd]),
      made.map((id) => [id, '/tmp']),
    );
    await Promise.all(made.map((id) => call('DELETE', `/contexts/${id}`)));
    assert.deepEqual(await listed(), before);
  });
});
