import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { type Served, served } from '../testing/served.ts';

async function filesOf(api: Served) {
  const { id } = await api.create();
  return `/v1/sandboxes/${id}/files`;
}

test('a file is read whole, with its entry in a header', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const { status, text, headers } = await api.call('GET', `${at}/content?path=/etc/motd`);
  assert.deepEqual([status, text, headers.get('content-length')], [200, 'hello world\n', '12']);
  assert.equal(JSON.parse(headers.get('x-viv-entry')!).sizeBytes, 12);
});

test('ranges are answered as RFC 9110 says', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const get = (range: string) => api.call('GET', `${at}/content?path=/etc/motd`, undefined, { range });
  const part = await get('bytes=6-10');
  assert.deepEqual([part.status, part.text, part.headers.get('content-range')], [206, 'world', 'bytes 6-10/12']);
  assert.equal((await get('bytes=-6')).text, 'world\n');
  assert.equal((await get('bytes=6-')).text, 'world\n');
  assert.equal((await get('bytes=0-999')).text, 'hello world\n');
  assert.equal((await get('bytes=12-')).status, 416);
  assert.equal((await get('bytes=0-1,3-4')).status, 200, 'several ranges: the whole file');
  assert.equal((await get('lines=1-2')).status, 200);
});

test('a large upload and download pass unchanged', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const content = Buffer.alloc(20 * 1024 * 1024, 'vivarium');
  const put = await api.call('PUT', `${at}/content?path=/big&mode=755&fsync=true&owner=dev`, content);
  assert.equal(put.json.sizeBytes, content.length);
  assert.deepEqual(api.edge.files.calls.at(-1)!.options, {
    append: false,
    exclusive: false,
    fsync: true,
    owner: 'dev',
    offset: undefined,
    user: undefined,
    mode: 0o755,
  });
  const response = await fetch(`${api.url}${at}/content?path=/big`, {
    headers: { authorization: `Bearer ${api.secret}` },
  });
  const digest = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
  assert.equal(digest(new Uint8Array(await response.arrayBuffer())), digest(content));
});

test('a file that grows while it is read is cut at the size that was promised, and the connection goes on', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const entry = await api.edge.files.stat('', Buffer.from('/etc/motd'), { follow: true });
  let destroyed = false;
  api.edge.files.read = async () => {
    const stream = Readable.from(
      (function* () {
        yield Buffer.from('hello ');
        for (let i = 0; i < 100; i++) yield Buffer.from('world\nHTTP/1.1 200 OK\r\n\r\n');
      })(),
    );
    stream.on('close', () => {
      destroyed = true;
    });
    return { entry, stream };
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (path: string) =>
    new Promise<string>((resolve) => {
      request(api.url + path, { agent, headers: { authorization: `Bearer ${api.secret}` } }, async (res) =>
        resolve((await res.toArray()).join('')),
      ).end();
    });
  assert.equal(await get(`${at}/content?path=/etc/motd`), 'hello world\n');
  assert.equal(JSON.parse(await get('/v1/node')).id, 'n1');
  assert.ok(destroyed);
  agent.destroy();
});

test('a file that shrinks while it is read breaks the connection instead of ending short', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const entry = await api.edge.files.stat('', Buffer.from('/etc/motd'), { follow: true });
  api.edge.files.read = async () => ({ entry, stream: Readable.from([Buffer.from('hello')]) });
  await assert.rejects(api.call('GET', `${at}/content?path=/etc/motd`), /terminated|fetch failed/);
  await assert.rejects(
    api.call('GET', `${at}/content?path=/etc/motd`, undefined, { range: 'bytes=2-9' }),
    /terminated|fetch failed/,
  );
});

test('names that are not ASCII and names that are not UTF-8 reach the edge as their bytes', async () => {
  await using api = await served();
  const at = await filesOf(api);
  await api.call('PUT', `${at}/content?path=${encodeURIComponent('/tmp/ü \n☃')}`, 'x');
  assert.equal(api.edge.files.calls.at(-1)!.path, Buffer.from('/tmp/ü \n☃').toString('latin1'));
  const raw = Buffer.from([0x2f, 0xff, 0xfe]);
  await api.call('PUT', `${at}/content?pathB64=${encodeURIComponent(raw.toString('base64'))}`, 'x');
  assert.equal(api.edge.files.calls.at(-1)!.path, raw.toString('latin1'));
  const read = await api.call('GET', `${at}/content?path=${encodeURIComponent('/tmp/ü \n☃')}`);
  assert.ok(JSON.parse(read.headers.get('x-viv-entry')!).name.includes('\n'), 'the header survives any name');
});

test('directories, moves, owners, modes, links, removal and archives reach the edge', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const calls = () => api.edge.files.calls.at(-1)!;
  assert.equal((await api.call('POST', `${at}/mkdir`, { path: '/d', mode: 0o700 })).json.type, 'dir');
  assert.deepEqual(calls().options, { parents: true, exclusive: false, user: undefined, mode: 0o700 });
  assert.equal((await api.call('POST', `${at}/move`, { path: '/a', to: '/b', overwrite: false })).status, 200);
  assert.deepEqual([calls().name, calls().path], ['move /a', '/b']);
  assert.equal((await api.call('POST', `${at}/chmod`, { path: '/a', mode: 0o600 })).status, 204);
  assert.equal((await api.call('POST', `${at}/chown`, { path: '/a', owner: 'dev:dev', recursive: true })).status, 204);
  assert.equal((await api.call('POST', `${at}/symlink`, { path: '/l', target: '../x' })).json.target, '../x');
  assert.equal((await api.call('DELETE', `${at}?path=/etc/motd&recursive=true`)).json.removed, 1);
  assert.equal((await api.call('GET', `${at}/archive?path=/src`)).text, 'tar of /src');
  assert.deepEqual((await api.call('PUT', `${at}/archive?path=/src&owner=dev`, 'tartar')).json, {
    entries: 1,
    bytes: 6,
  });
});

test('metadata of a write and details of a list reach the edge', async () => {
  await using s = await served();
  const { id } = await s.create();
  const at = `/v1/sandboxes/${id}/files`;
  await s.call('PUT', `${at}/content?path=/w&metadata=a%3Db&metadata=c%3Dd%3De&metadata=f%3D`, 'x');
  await s.call('GET', `${at}/list?path=/w&metadata=true&resolve=true`);
  const [written, listed] = s.edge.files.calls.map(({ options }) => options as Record<string, unknown>);
  assert.deepEqual(written?.metadata, { a: 'b', c: 'd=e', f: '' });
  assert.deepEqual([listed?.metadata, listed?.resolve], [true, true]);
  assert.equal((await s.call('PUT', `${at}/content?path=/w&metadata=novalue`, 'x')).status, 400);
});

test('a list is JSON, or lines for those who ask, and bounded as JSON', async () => {
  await using api = await served();
  const at = await filesOf(api);
  assert.equal((await api.call('GET', `${at}/list?path=/&depth=3`)).json.items.length, 2);
  api.edge.files.listCount = 100_001;
  const refused = await api.call('GET', `${at}/list?path=/`);
  assert.deepEqual([refused.status, refused.json.error.code], [413, 'payload_too_large']);
  const { text } = await api.call('GET', `${at}/list?path=/`, undefined, { accept: 'application/x-ndjson' });
  assert.equal(text.split('\n').length, 100_002);
});

test('bad paths are refused by name', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const message = async (query: string) => (await api.call('GET', `${at}/stat?${query}`)).json.error.message;
  assert.match(await message(''), /path is required/);
  assert.match(await message('path=/a&pathB64=L2E='), /exclude each other/);
  assert.match(await message('pathB64=***'), /pathB64 is not base64/);
  assert.match(await message('path=/a%00b'), /NUL/);
  assert.match(await message(`path=${encodeURIComponent('ü'.repeat(2100))}`), /longer than 4096 bytes/);
  assert.match(await message('path=/nowhere'), /\/nowhere: no such file/);
  assert.equal(
    (await api.call('PUT', `${at}/content?path=/a&append=true&offset=4`, 'x')).json.error.code,
    'invalid_argument',
  );
});

test('an upload that is refused early tells why although its body was not read', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const { status, json } = await api.call('PUT', `${at}/content?path=/proc/x`, Buffer.alloc(8 * 1024 * 1024));
  assert.deepEqual([status, json.error.code], [403, 'path_denied']);
});

test('a client that waits with Expect: 100-continue is not asked for a body that would be refused', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const outcome = (authorization: string) =>
    new Promise<string>((resolve) => {
      const events: string[] = [];
      const req = request(`${api.url}${at}/content?path=/e`, {
        method: 'PUT',
        headers: { authorization, expect: '100-continue', 'content-length': 3 },
      });
      req.on('continue', () => {
        events.push('continue');
        req.end('abc');
      });
      req.on('response', (res) => {
        events.push(String(res.statusCode));
        res.resume();
        req.destroy();
        resolve(events.join(' '));
      });
      req.on('error', () => {});
      req.flushHeaders();
    });
  assert.equal(await outcome(`Bearer ${api.secret}`), 'continue 200');
  assert.equal(await outcome('Bearer viv_wrong'), '401');
});

test('an upload that breaks off is an error for the edge, so that it keeps the old file', async () => {
  await using api = await served();
  const at = await filesOf(api);
  const failed = new Promise<unknown>((resolve) => {
    api.edge.files.write = async (_sandbox, _path, body) => {
      try {
        for await (const _ of body);
        resolve('complete');
      } catch (error) {
        resolve(error);
      }
      throw new Error('never seen');
    };
  });
  const socket = connect(api.port, '127.0.0.1');
  socket.write(
    `PUT ${at}/content?path=/x HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${api.secret}\r\ncontent-length: 100\r\n\r\nhalf`,
  );
  setTimeout(() => socket.destroy(), 50);
  assert.ok((await failed) instanceof Error);
});
