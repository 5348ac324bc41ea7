import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { verifyChain } from '@vivarium/core';
import { ExecStart, type ExecStartInput, SandboxCreate, type SandboxCreateInput } from '@vivarium/protocol';
import pino from 'pino';
import { inMountNamespace, openTestNode, type TestNode } from './drivers/container/test-node.ts';
import { FakeImages } from './fakes/fake-images.ts';
import { type OpenEdge, openEdge } from './open-edge.ts';

/** The edge over the real driver and the real guest, with a busybox image. */
if (inMountNamespace(import.meta.filename)) {
  let node: TestNode;
  let edge: OpenEdge;
  let id: string;
  const owner = { keyId: 'k', maxSandboxes: null };

  const open = async () => {
    edge = await openEdge({
      stateDir: node.stateDir,
      drivers: [node.driver],
      images: new FakeImages(node.layers),
      log: pino({ level: process.env.VIV_TEST_LOG ?? 'silent' }),
      limits: { minFreeDiskBytes: 0, minFreeMemoryBytes: 0 },
    });
  };
  const create = (request: Partial<SandboxCreateInput> = {}) =>
    edge.sandboxes.create(SandboxCreate.parse({ image: 'base/test@1', ...request }), owner);
  const sh = async (command: string, options: Partial<ExecStartInput> = {}, sandbox = id) => {
    const result = await edge.execs.run(sandbox, ExecStart.parse({ command, ...options }));
    return {
      ...result,
      out: Buffer.from(result.stdoutB64, 'base64').toString(),
      err: Buffer.from(result.stderrB64, 'base64').toString(),
    };
  };
  const bytes = (path: string | Buffer) => Buffer.from(path as string);
  const write = (path: string | Buffer, content: string) =>
    edge.files.write(id, bytes(path), Readable.from([Buffer.from(content)]), {
      append: false,
      exclusive: false,
      fsync: false,
    });
  const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');

  before(async () => {
    node = await openTestNode();
    await open();
    id = (await create({ env: { GREETING: 'hi' }, limits: { memoryMiB: 64, pids: 64, diskMiB: 16 } })).id;
  });
  after(async () => {
    await edge.endAll();
    await edge.close();
    await node.close();
  });

  test('a command has its output, code, environment and user', async () => {
    const result = await sh('echo $GREETING $X; echo err >&2; id -u; exit 3', { env: { X: 'there' }, user: 'user' });
    assert.deepEqual([result.out, result.err, result.exitCode], ['hi there\n1000\n', 'err\n', 3]);
    assert.deepEqual(result.outcome, { type: 'exited', code: 3 });
    assert.equal(result.stdout.sha256, sha256(result.out));
  });

  test('a missing program is 127 and one that may not be run is 126, with a message', async () => {
    const missing = await edge.execs.run(id, ExecStart.parse({ argv: ['nosuch'] }));
    assert.deepEqual([missing.exitCode, missing.message], [127, 'nosuch: not found']);
    const denied = await edge.execs.run(id, ExecStart.parse({ argv: ['/etc/passwd'] }));
    assert.equal(denied.exitCode, 126);
    assert.match(denied.message!, /\/etc\/passwd: /);
  });

  test('an unknown user and a missing directory refuse the request', async () => {
    await assert.rejects(sh('true', { user: 'nobody-here' }), { code: 'user_unknown' });
    await assert.rejects(sh('true', { cwd: '/no/such' }), { code: 'path_not_found' });
  });

  test('a time-out ends everything the command started, also what left its session', async () => {
    const result = await sh('(setsid setsid sleep 1000 &) ; echo started; sleep 1000', { timeoutMs: 700 });
    assert.deepEqual([result.outcome, result.out], [{ type: 'timeout' }, 'started\n']);
    assert.deepEqual(
      (await edge.sandboxes.processes(id)).filter(({ comm }) => comm === 'sleep'),
      [],
    );
  });

  test('a background child outlives its command and does not hold it', async () => {
    const result = await sh('sleep 987 & echo $!');
    assert.equal(result.exitCode, 0);
    const child = (await edge.sandboxes.processes(id)).find(({ pid }) => pid === Number(result.out));
    assert.equal(child?.ppid, 1);
    await sh(`kill -9 ${result.out}`);
  });

  test('a memory hog is oom and the sandbox lives on', async () => {
    const result = await sh('exec tail /dev/zero');
    assert.deepEqual([result.outcome, result.exitCode], [{ type: 'oom' }, 137]);
    assert.equal((await sh('kill -9 $$')).outcome?.type, 'signaled');
    assert.equal((await sh('echo alive')).out, 'alive\n');
  });

  test('a fork bomb meets the pid limit, which is noted; beyond it nothing can be started', async () => {
    const bomb = await sh('i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done');
    assert.notEqual(bomb.exitCode, 0);
    assert.ok(bomb.annotations.includes('pids_limit'));
    const last = await edge.execs.run(id, ExecStart.parse({ argv: ['sleep', '100'], detach: true }));
    await assert.rejects(sh('true'), { code: 'spawn_failed' });
    await edge.execs.cancel(id, last.id);
    await sh('kill -9 -1');
    assert.equal((await sh('echo again')).out, 'again\n');
  });

  test('a full disk is the sandbox’s own: an error of the write, a note at the command', async () => {
    const result = await sh('dd if=/dev/zero of=/root/big bs=65536 count=1000');
    assert.notEqual(result.exitCode, 0);
    assert.deepEqual(result.annotations, ['disk_limit']);
    await assert.rejects(write('/root/more', 'x'.repeat(200_000)), { code: 'disk_full' });
    await edge.files.remove(id, bytes('/root/big'), { recursive: false, missingOk: false });
  });

  test('20 MB of output arrive whole and in order, whatever is kept', async () => {
    const hash = createHash('sha256');
    let next = 0;
    const stream = await edge.execs.start(
      id,
      ExecStart.parse({ command: 'yes 0123456789abcde | head -c 20000000', keepBytes: 1000 }),
      {
        stdin: false,
        onGap: () => assert.fail('gap'),
        onData: (sub, offset, chunk) => {
          assert.deepEqual([sub, offset], [1, next]);
          next += chunk.length;
          hash.update(chunk);
        },
      },
    );
    const exec = await stream.done;
    assert.equal(next, 20_000_000);
    assert.equal(exec.stdout.sha256, hash.digest('hex'));
  });

  test('a terminal has its size, takes input and ends with its session', async () => {
    let seen = '';
    const stream = await edge.execs.start(id, ExecStart.parse({ argv: ['/bin/sh'], pty: { rows: 40, cols: 100 } }), {
      stdin: true,
      onGap: () => {},
      onData: (_sub, _offset, chunk) => {
        seen += Buffer.from(chunk).toString();
      },
    });
    await edge.execs.resize(id, stream.exec.id, { rows: 33, cols: 77 });
    await stream.write(Buffer.from('stty size; exit 5\n'));
    const exec = await stream.done;
    assert.equal(exec.exitCode, 5);
    assert.match(seen, /33 77/);
  });

  test('files are written, read in ranges, listed, moved and removed, with names of any bytes', async () => {
    const odd = Buffer.from('/root/d/\xff sp\nace', 'latin1');
    const entry = await write(odd, 'content');
    assert.equal(entry.pathB64, odd.toString('base64'));
    const { entry: stat, stream } = await edge.files.read(id, odd, { offset: 3, length: 2 });
    assert.deepEqual([stat.sizeBytes, await text(stream)], [7, 'te']);
    await edge.files.symlink(id, bytes('/root/d/link'), '/etc/passwd', {});
    const listed = [];
    for await (const each of edge.files.list(id, bytes('/root'), { depth: 2 })) listed.push(each);
    assert.deepEqual(listed.map(({ type, path }) => `${type} ${path}`).sort(), [
      'dir /root/d',
      'file /root/d/\ufffd sp\nace',
      'symlink /root/d/link',
    ]);
    await edge.files.move(id, odd, bytes('/root/e/plain'), { overwrite: true, parents: true });
    assert.equal((await sh('cat /root/e/plain')).out, 'content');
    assert.deepEqual(await edge.files.remove(id, bytes('/root/d'), { recursive: true, missingOk: false }), {
      removed: 2,
    });
    await assert.rejects(edge.files.read(id, bytes('/root'), {}), { code: 'is_directory' });
    await assert.rejects(edge.files.read(id, bytes('/root/nope'), {}), { code: 'path_not_found' });
    await assert.rejects(edge.files.read(id, bytes('/etc/shadow-not'), { user: 'user' }), { code: 'path_not_found' });
  });

  test('a directory leaves as a tar and comes back the same', async () => {
    await sh(
      'rm -rf /root/t; mkdir -p /root/t/sub; cd /root/t; echo one > a; ln a sub/hard; ln -s ../a sub/soft; chmod 4751 a; head -c 300000 /dev/zero > big; touch -d "2001-02-03 04:05:06" a sub',
    );
    await write(Buffer.from(`/root/t/${'l'.repeat(120)}\xfe`, 'latin1'), 'long');
    const archive = Buffer.concat(await (await edge.files.archive(id, bytes('/root/t'), {})).toArray());
    const result = await edge.files.unarchive(id, bytes('/root/u'), Readable.from([archive]), {});
    assert.equal(result.entries, 7);
    const look =
      'find . | sort; stat -c "%a %h %Y" a sub/hard sub; readlink sub/soft; md5sum big a; ls | tail -1 | od -c | tail -3';
    const [from, to] = [await sh(`cd /root/t; ${look}`), await sh(`cd /root/u; ${look}`)];
    assert.equal(to.out, from.out);
    assert.match(to.out, /4751 2 981173106/);
  });

  test('the journal has the digest of all that was read, however early it came', async () => {
    await sh('head -c 3000000 /dev/urandom > /root/three');
    for (let i = 0; i < 8; i++) {
      const { stream } = await edge.files.read(id, bytes('/root/three'), {});
      const content = Buffer.concat(await stream.toArray());
      if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
      const record = (await edge.sandboxes.logs(id, -1, 10_000)).findLast(({ data }) => data.op === 'read');
      assert.deepEqual([record?.data.bytes, record?.data.sha256], [3_000_000, sha256(content)]);
    }
  });

  test('an archive can’t leave its directory, by name or by link', async () => {
    const tar = (script: string) => sh(`rm -rf /root/x; mkdir /root/x; cd /root/x; ${script}`);
    const fetch = async () => Buffer.concat(await (await edge.files.archive(id, bytes('/root/x'), {})).toArray());
    await tar('mkdir aaaaa; echo bad > aaaaa/f');
    const climbing = await fetch();
    const names = climbing.toString('latin1').replaceAll('./aaaaa/f', './../../f');
    await assert.rejects(
      edge.files.unarchive(id, bytes('/root/y'), Readable.from([fixChecksums(Buffer.from(names, 'latin1'))]), {}),
      {
        code: 'path_escapes',
        message: /\.\.\/f/,
      },
    );
    await tar('ln -s /root/victim link; mkdir -p /root/victim');
    await edge.files.unarchive(id, bytes('/root/y'), Readable.from([await fetch()]), {});
    await tar('mkdir link; echo bad > link/f');
    await assert.rejects(edge.files.unarchive(id, bytes('/root/y'), Readable.from([await fetch()]), {}));
    assert.equal((await sh('ls /root/victim /root/f 2>/dev/null')).out, '/root/victim:\n');
  });

  test('a cut or damaged archive is refused', async () => {
    const archive = Buffer.concat(await (await edge.files.archive(id, bytes('/etc'), {})).toArray());
    for (const bad of [
      archive.subarray(0, 700),
      archive.subarray(0, archive.length - 1024),
      Buffer.alloc(0),
      Buffer.from('x'.repeat(2000)),
    ]) {
      await assert.rejects(edge.files.unarchive(id, bytes('/root/z'), Readable.from([bad]), {}), {
        code: 'invalid_archive',
      });
    }
  });

  test('changes in a directory are told as they happen', async () => {
    await sh('mkdir -p /root/w');
    const stop = new AbortController();
    const events = await edge.files.watch(id, bytes('/root/w'), { recursive: false }, stop.signal);
    await sh('echo x > /root/w/new');
    for await (const event of events) {
      assert.deepEqual([event.kind, event.path], ['create', 'new']);
      break;
    }
    stop.abort();
  });

  test('a port inside is reached without any network', async () => {
    const server = await edge.execs.run(id, ExecStart.parse({ command: 'echo pong | nc -l -p 8123', detach: true }));
    let stream: Awaited<ReturnType<OpenEdge['ports']['connect']>> | undefined;
    for (let i = 0; i < 100 && !stream; i++) {
      stream = await edge.ports.connect(id, { port: 8123 }).catch(() => undefined);
      if (!stream) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    stream!.end();
    assert.equal(await text(stream!), 'pong\n');
    await edge.execs.result(id, server.id, 5000);
    await assert.rejects(edge.ports.connect(id, { port: 8124 }), { code: 'port_closed' });
  });

  test('a listener inside hands its connections out', async () => {
    const stop = new AbortController();
    const { port, connections } = await edge.ports.listen(id, { port: 0 }, stop.signal);
    const answered = (async () => {
      for await (const stream of connections) {
        stream.end('from outside\n');
        break;
      }
    })();
    assert.equal((await sh(`nc 127.0.0.1 ${port} < /dev/null`)).out, 'from outside\n');
    await answered;
    stop.abort();
    assert.notEqual((await sh(`nc 127.0.0.1 ${port} < /dev/null`)).exitCode, 0);
  });

  test('a named endpoint answers on localhost inside, with secrets that the inside never sees, and nothing else does', async () => {
    const seen: Record<string, unknown>[] = [];
    const endpoint = createServer((request, response) => {
      seen.push({ url: request.url, ...request.headers });
      response.setHeader('x-answer', 'yes');
      response.end(`you asked ${request.url}`);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => endpoint.once('listening', resolve));
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/base`;
    const sandbox = await create({ reach: [{ port: 8000, url, headers: { authorization: 'Bearer secret' } }] });
    const result = await sh(
      'wget -q -O - --header "X-Vivarium-Sandbox: forged" http://127.0.0.1:8000/v1/x?y=1',
      {},
      sandbox.id,
    );
    assert.equal(result.out, 'you asked /base/v1/x?y=1');
    assert.equal(seen[0]!.authorization, 'Bearer secret');
    assert.equal(seen[0]!['x-vivarium-sandbox'], sandbox.id);
    endpoint.close();
    endpoint.closeAllConnections();
    const down = await sh('wget -S -q -O - http://127.0.0.1:8000/ 2>&1', {}, sandbox.id);
    assert.match(down.out, /502/);
    const calls = (await edge.sandboxes.logs(sandbox.id, -1, 100)).filter(({ type }) => type === 'reach');
    assert.deepEqual(
      calls.map(({ data }) => data.status),
      [200, 502],
    );
    await edge.sandboxes.kill(sandbox.id);
  });

  test('a paused sandbox stands still', async () => {
    const counter = await edge.execs.run(
      id,
      ExecStart.parse({ command: 'while :; do echo x; sleep 0.05; done', detach: true }),
    );
    await edge.sandboxes.pause(id);
    const before = (await edge.execs.get(id, counter.id)).stdout.bytes;
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.ok((await edge.execs.get(id, counter.id)).stdout.bytes - before <= 2);
    await assert.rejects(sh('true'), { code: 'sandbox_paused' });
    await edge.sandboxes.resume(id);
    await edge.execs.cancel(id, counter.id);
  });

  test('a fork has the files and not the processes, and goes its own way', async () => {
    await write('/root/shared', 'before');
    const [fork] = await edge.sandboxes.fork(id, { count: 1 }, owner);
    await sh('echo changed > /root/shared');
    assert.equal((await sh('cat /root/shared', {}, fork!.id)).out, 'before');
    await edge.sandboxes.kill(fork!.id);
  });

  test('the edge restarts and every command goes on with exact output, code and digest', async () => {
    const running = await edge.execs.run(
      id,
      ExecStart.parse({
        command: 'i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); usleep 5000; done; exit 9',
        detach: true,
      }),
    );
    const fed = await edge.execs.run(
      id,
      ExecStart.parse({ command: 'sleep 0.7; wc -c', stdin: Buffer.alloc(300_000).toString('base64'), detach: true }),
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    await edge.close();
    await new Promise((resolve) => setTimeout(resolve, 200));
    await node.reopen();
    await open();
    assert.equal(edge.adopted.lost, 0);
    const result = await edge.execs.result(id, running.id, 20_000);
    const expected = Array.from({ length: 200 }, (_, i) => `line ${i}\n`).join('');
    assert.equal(Buffer.from(result.stdoutB64, 'base64').toString(), expected);
    assert.deepEqual([result.outcome, result.stdout.sha256], [{ type: 'exited', code: 9 }, sha256(expected)]);
    const count = await edge.execs.result(id, fed.id, 20_000);
    assert.equal(Buffer.from(count.stdoutB64, 'base64').toString().trim(), '300000');
  });

  test('a sandbox whose PID 1 is killed has ended, its commands are lost, and nothing of it is left', async () => {
    const { id: victim } = await create();
    const stream = await edge.execs.start(victim, ExecStart.parse({ argv: ['sleep', '1000'] }), {
      stdin: false,
      onData: () => {},
      onGap: () => {},
    });
    await edge.sandboxes.kill(victim);
    assert.deepEqual((await stream.done).outcome, { type: 'canceled' });
    assert.equal(edge.sandboxes.get(victim).state, 'ended');
  });

  test('the journal of all this verifies', async () => {
    const records = await edge.sandboxes.logs(id, -1, 100_000);
    assert.ok(records.length > 100);
    verifyChain(records);
  });
}

/** Recomputes the checksum of every header block (tar(5)). */
function fixChecksums(tar: Buffer): Buffer {
  for (let at = 0; at + 512 <= tar.length; at += 512) {
    const header = tar.subarray(at, at + 512);
    if (header.toString('latin1', 257, 262) !== 'ustar') continue;
    header.fill(0x20, 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
  return tar;
}
