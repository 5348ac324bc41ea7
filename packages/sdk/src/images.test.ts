import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { Vivarium } from './client.ts';
import { FakeServer } from './testing/fake-server.ts';

let server: FakeServer;
let viv: Vivarium;
before(async () => {
  server = await FakeServer.start();
  viv = new Vivarium({ url: server.url, apiKey: 'viv_test' });
});
after(async () => {
  viv.close();
  await server.close();
});

const missing = (image: string) =>
  new VivError('image_not_found', `there is no image ${image}`, { details: { image } });

test('what needs the base image for the first time makes it and is done again', async () => {
  let made = false;
  server.routes.set('POST /v1/images/import', () => {
    made = true;
    return { raw: Buffer.from('{"type":"progress","stage":"a","message":"b"}\n{"type":"done","image":{}}\n') };
  });
  const stages: string[] = [];
  const work = async () => {
    if (!made) throw missing('base/debian@12');
    return 'built';
  };
  assert.equal(await viv.images.withBase(work, { onProgress: ({ stage }) => stages.push(stage) }), 'built');
  assert.deepEqual(stages, ['a']);
});

test('another image that is missing is an error, and the base image is not made for it', async () => {
  server.routes.set('POST /v1/images/import', () => assert.fail('made'));
  const work = () => Promise.reject(missing('other@1'));
  await assert.rejects(viv.images.withBase(work), { code: 'image_not_found' });
});
