import assert from 'node:assert/strict';
import { Secret, SecretNotFoundError } from 'e2b';
import { type Checks, fresh } from './bed.ts';

/** `Secret`. What is stored is never read back. */
export const SECRET_CHECKS: Checks = {
  'Secret.create': async ({ connection }) => {
    const name = fresh('secret');
    const made = await Secret.create(name, 'value of it', { ...connection, metadata: { team: 'a' } });
    assert.deepEqual([made.name, made.version, made.metadata], [name, 1, { team: 'a' }]);
    assert.ok(!JSON.stringify(made).includes('value of it'));
    await Secret.destroy(made.secretId, connection);
  },
  'Secret.update': async ({ connection }) => {
    const { secretId } = await Secret.create(fresh('secret'), 'one', connection);
    assert.equal((await Secret.update(secretId, 'two', connection)).version, 2);
    await Secret.destroy(secretId, connection);
    await assert.rejects(Secret.update(secretId, 'three', connection), SecretNotFoundError);
  },
  'Secret.getInfo': async ({ connection }) => {
    const made = await Secret.create(fresh('secret'), 'x', connection);
    assert.deepEqual(await Secret.getInfo(made.secretId, connection), made);
    assert.deepEqual(await Secret.getInfo(made.name, connection), made, 'by name too');
    await Secret.destroy(made.secretId, connection);
  },
  'Secret.list': async ({ connection }) => {
    const made = await Secret.create(fresh('secret'), 'x', connection);
    const listed = await Secret.list(connection).nextItems();
    assert.ok(listed.some(({ secretId }) => secretId === made.secretId));
    await Secret.destroy(made.secretId, connection);
  },
  'secretPaginator.nextItems': async ({ connection }) => {
    const made: string[] = [];
    for (let n = 0; n < 3; n += 1) made.push((await Secret.create(fresh('secret'), 'x', connection)).secretId);
    const pages = Secret.list({ ...connection, limit: 2 });
    const seen: string[] = [];
    while (pages.hasNext) seen.push(...(await pages.nextItems()).map(({ secretId }) => secretId));
    assert.deepEqual(seen.filter((id) => made.includes(id)).sort(), made.sort());
    for (const id of made) await Secret.destroy(id, connection);
  },
  'Secret.exists': async ({ connection }) => {
    const made = await Secret.create(fresh('secret'), 'x', connection);
    assert.equal(await Secret.exists(made.secretId, connection), true);
    await Secret.destroy(made.secretId, connection);
    assert.equal(await Secret.exists(made.secretId, connection), false);
  },
  'Secret.destroy': async ({ connection }) => {
    const { secretId } = await Secret.create(fresh('secret'), 'x', connection);
    assert.equal(await Secret.destroy(secretId, connection), true);
    assert.equal(await Secret.destroy(secretId, connection), false);
  },
  'Secret.fill': async () => assert.equal(Secret.fill('token'), `\${e2b.secrets.token}`),
  'Secret.iamToken': async () =>
    assert.deepEqual(Secret.iamToken({ audience: 'a', tokenType: 'JWT-SVID' }), {
      audience: 'a',
      tokenType: 'JWT-SVID',
    }),
};
