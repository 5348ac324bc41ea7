import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { down, liveRecord, nodePaths, up } from '@vivarium/node';
import { localConnection } from '@vivarium/sdk/node/local-connection.ts';
import { call } from '../harness/http.ts';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';

const lines: string[] = [];
const say = (line: string) => lines.push(line);

describe('a node that runs', () => {
  let node: TestNode;
  before(async () => {
    node = await startTestNode();
  });
  after(() => node.purge());

  test('a second up says that it is up and ends well', async () => {
    const code = await up(
      { stateDir: node.paths.stateDir, listen: '127.0.0.1:0', domain: undefined, detach: true },
      say,
    );
    assert.equal(code, 0);
    assert.match(lines.at(-1) ?? '', new RegExp(`already up at ${node.url}`));
  });

  test('the first key is for root only', () => {
    assert.equal(statSync(node.paths.firstKey).mode & 0o777, 0o600);
    assert.match(node.key, /^viv_[0-9a-f]{40}$/);
  });

  test('a command on this machine finds it by its state directory, whatever its port', () => {
    const env = { VIV_STATE_DIR: node.paths.stateDir };
    assert.deepEqual(localConnection({}, env, '/nonexistent'), { url: node.url, apiKey: node.key });
  });

  test('its mounts do not show on the host', () => {
    assert.equal(readFileSync('/proc/self/mountinfo', 'utf8').includes(node.paths.runDir), false);
  });

  test('a port that is taken is named', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    const stateDir = mkdtempSync(join(tmpdir(), 'viv-node-'));
    const attempt = up({ stateDir, listen: `127.0.0.1:${port}`, domain: undefined, detach: true }, say);
    await assert.rejects(attempt, new RegExp(`can't listen on 127.0.0.1:${port}: something else listens there`));
    other.close();
    await down({ stateDir, purge: true }, say);
    assert.equal(existsSync(stateDir), false);
  });

  test('a server killed with kill -9 loses no sandbox, no command and no output', async () => {
    const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
    const script = 'i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); sleep 0.01; done; exit 7';
    const exec = await sandbox.start(script);
    await delay(500);
    await node.kill9();
    await delay(500);
    await node.start();
    const again = await node.viv.sandboxes.get(sandbox.id);
    assert.equal(again.state, 'running');
    const process = await again.attach(exec.id);
    const result = await process.result();
    assert.equal(result.exitCode, 7);
    assert.equal(result.stdout, Array.from({ length: 300 }, (_, n) => `line ${n}\n`).join(''));
    await again.kill();
  });

  test('a spawner killed with kill -9 is started again and creates go on', async () => {
    const spawner = childrenOf(node.serverPid()).find((pid) => commandLine(pid).includes('/spawner/'));
    assert.ok(spawner !== undefined, 'the server has a spawner');
    const creates = Array.from({ length: 8 }, () => node.viv.sandboxes.create({ image: IMAGE }));
    process.kill(spawner, 'SIGKILL');
    const sandboxes = await Promise.all(creates);
    const results = await Promise.all(sandboxes.map((sandbox) => sandbox.exec(['echo', 'ok'])));
    assert.deepEqual([...new Set(results.map((result) => result.stdout))], ['ok\n']);
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  });

  test('a holder killed with kill -9 is replaced by one in the same namespace', async () => {
    const before = liveRecord(node.paths.holderRecord)!;
    process.kill(before.pid, 'SIGKILL');
    let now = liveRecord(node.paths.holderRecord);
    for (let tries = 0; (now === undefined || now.pid === before.pid) && tries < 200; tries += 1) {
      await delay(50);
      now = liveRecord(node.paths.holderRecord);
    }
    assert.ok(now !== undefined && now.pid !== before.pid);
    const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
    assert.equal((await sandbox.exec(['true'])).exitCode, 0);
    await sandbox.kill();
  });

  test('SIGTERM lets the work in flight finish and leaves sandboxes running', async () => {
    const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
    const start = { command: 'sleep 1; echo finished' };
    const unary = call(node, 'POST', `/v1/sandboxes/${sandbox.id}/execs`, start);
    const streamed = sandbox.exec(start.command);
    await delay(300);
    await node.stop();
    assert.equal(Buffer.from((await unary).body.stdoutB64 as string, 'base64').toString(), 'finished\n');
    await node.start();
    assert.equal((await streamed).stdout, 'finished\n');
    assert.equal((await node.viv.sandboxes.get(sandbox.id)).state, 'running');
    await sandbox.kill();
  });

  test('a server that dies comes back by itself, with everything; one that was stopped does not', async () => {
    const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
    await node.kill9();
    for (let tries = 0; liveRecord(node.paths.serverRecord) === undefined && tries < 400; tries += 1) await delay(50);
    assert.equal((await fetch(`${node.url}/healthz`)).status, 200, 'on the same address');
    assert.equal((await (await node.viv.sandboxes.get(sandbox.id)).exec(['echo', 'ok'])).stdout, 'ok\n');
    await node.stop();
    await delay(2500);
    assert.equal(liveRecord(node.paths.serverRecord) ?? liveRecord(node.paths.startingRecord), undefined);
    await node.start();
    await (await node.viv.sandboxes.get(sandbox.id)).kill();
  });

  test('of several ups at once one starts the server, the others find it', async () => {
    await node.stop();
    const { port } = new URL(node.url);
    const options = { stateDir: node.paths.stateDir, listen: `127.0.0.1:${port}`, domain: undefined, detach: true };
    lines.length = 0;
    assert.deepEqual(await Promise.all([up(options, say), up(options, say), up(options, say)]), [0, 0, 0]);
    assert.deepEqual(lines.map((line) => /already up/.test(line)).sort(), [false, true, true]);
    assert.equal((await fetch(`${node.url}/healthz`)).status, 200);
  });

  test('a stale record whose pid another process has now does not hinder the next server', async () => {
    const record = JSON.parse(readFileSync(node.paths.serverRecord, 'utf8')) as object;
    await node.kill9();
    writeFileSync(node.paths.serverRecord, JSON.stringify({ ...record, pid: process.pid }));
    await node.start();
    assert.equal((await fetch(`${node.url}/healthz`)).status, 200);
  });

  test('doctor says that containers work here', () => {
    const { code, stdout } = runViv(node, ['doctor', '--json']);
    assert.equal(code, 0, stdout);
    const rows = (
      JSON.parse(stdout) as {
        capabilities: { kind: string | null; ok: boolean; reason: string | null; remedy: string | null }[];
      }
    ).capabilities;
    assert.ok(rows.some((row) => row.kind === 'container' && row.ok));
    for (const row of rows.filter((r) => !r.ok)) assert.ok(row.reason && row.remedy, JSON.stringify(row));
  });
});

describe('a node that stops', () => {
  test('down ends its sandboxes, purge leaves nothing', async () => {
    const node = await startTestNode();
    await node.viv.sandboxes.create({ image: IMAGE });
    await node.purge();
    assert.equal(existsSync(node.paths.stateDir), false);
    assert.equal(existsSync(node.paths.runDir), false);
  });

  test('down works when server and holder are dead', async () => {
    const node = await startTestNode();
    await node.viv.sandboxes.create({ image: IMAGE });
    process.kill(liveRecord(node.paths.holderRecord)!.pid, 'SIGKILL');
    await node.kill9();
    await node.purge();
    assert.equal(existsSync(node.paths.runDir), false);
  });

  test('viv down works as a program after the server was stopped', async () => {
    const node = await startTestNode();
    await node.viv.sandboxes.create({ image: IMAGE });
    await node.stop();
    const { code, stderr } = runViv(node, ['down', '--purge']);
    assert.equal(code, 0, stderr);
    assert.equal(existsSync(node.paths.stateDir), false);
    node.viv.close();
  });

  test('down without a node says so', async () => {
    await down({ stateDir: join(tmpdir(), 'never-was'), purge: true }, say);
    assert.match(lines.at(-1) ?? '', /no node at/);
  });

  test('a directory that is not a node’s is never purged', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'viv-other-'));
    writeFileSync(join(directory, 'precious'), 'data');
    await down({ stateDir: directory, purge: true }, say);
    assert.ok(existsSync(join(directory, 'precious')));
  });

  test('a state directory that can’t be made is named', async () => {
    const inTheWay = join(mkdtempSync(join(tmpdir(), 'viv-other-')), 'file');
    writeFileSync(inTheWay, '');
    const attempt = up(
      { stateDir: join(inTheWay, 'state'), listen: '127.0.0.1:0', domain: undefined, detach: true },
      say,
    );
    await assert.rejects(attempt, /the state directory .*file\/state can't be written/);
  });

  test('a state directory that another server has is refused, and named', async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'viv-node-'));
    const other = spawn('flock', [join(stateDir, 'lock'), 'sh', '-c', 'echo locked; exec sleep 60']);
    await once(other.stdout, 'data');
    const attempt = up({ stateDir, listen: '127.0.0.1:0', domain: undefined, detach: true }, say);
    await assert.rejects(attempt, {
      code: 'state_conflict',
      message: new RegExp(`another node process has .*${stateDir}`),
    });
    for (const pid of [...childrenOf(other.pid!), other.pid!]) process.kill(pid, 'SIGKILL');
    await once(other, 'exit');
    await down({ stateDir, purge: true }, say);
  });

  test('a node that can not start leaves no process: its port is taken', async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'viv-node-'));
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const attempt = up({ stateDir, listen: `127.0.0.1:${port}`, domain: undefined, detach: true }, say);
    await assert.rejects(attempt, new RegExp(String(port)));
    assert.equal(liveRecord(nodePaths(stateDir).holderRecord), undefined);
    taken.close();
    await down({ stateDir, purge: true }, say);
  });

  test('run directories of different nodes differ', () => {
    assert.equal(nodePaths('/var/lib/vivarium').runDir, '/run/vivarium');
    assert.notEqual(nodePaths('/a').runDir, nodePaths('/b').runDir);
  });
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}

function commandLine(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
}
