import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { Vivarium } from '@vivarium/sdk';
import { timed } from './samples.ts';
import { mustExit, type Testbed } from './testbed.ts';

const BLOCK = 16 << 20;
const BLOCKS = 64;
const MIB = (BLOCK * BLOCKS) / (1 << 20);

/** 1 GiB out by stdout, 1 GiB out and in as a file. Content is random (made once inside) and every digest is checked. */
export async function throughput(bed: Testbed): Promise<Record<string, number>> {
  const { id } = await bed.http.create(bed.image, { limits: { diskMiB: 8192, memoryMiB: 4096 } });
  mustExit(
    await bed.http.exec(id, [
      'sh',
      '-c',
      `head -c ${BLOCK} /dev/urandom >/root/block; for i in $(seq ${BLOCKS}); do cat /root/block; done >/root/big; sync`,
    ]),
  );
  const expected = await expectedDigest(bed, id);
  const rss0 = bed.serverRssMiB();
  const watch = watchRss(bed);

  const viv = new Vivarium({ url: bed.url, apiKey: bed.key });
  const sandbox = await viv.sandboxes.get(id);
  const stdout = await timed(async () => {
    const hash = createHash('sha256');
    const process = await sandbox.spawn(['sh', '-c', `for i in $(seq ${BLOCKS}); do cat /root/block; done`]);
    for await (const chunk of process.stdout) hash.update(chunk);
    await process.wait();
    return hash.digest('hex');
  });
  check(stdout.value, expected, 'stdout');
  const stdoutPeak = watch.peak();

  const down = await timed(() => download(bed, id, '/root/big'));
  check(down.value, expected, 'download');

  const local = await timed(async () =>
    mustExit(await bed.http.exec(id, ['dd', 'if=/root/big', 'of=/root/copy', 'bs=1M', 'conv=fsync', 'status=none'])),
  );
  mustExit(await bed.http.exec(id, ['sh', '-c', 'rm /root/copy; sync']));
  const block = await read(bed, id, '/root/block');
  const up = await timed(() => upload(bed, id, '/root/up', block));
  const answer = await bed.http.exec(id, ['sha256sum', '/root/up']);
  check(Buffer.from(answer.stdoutB64, 'base64').toString().slice(0, 64), expected, 'upload');
  await viv.close();
  const peak = watch.stop();
  await bed.http.kill(id);
  return {
    stdout_mib_s: (MIB * 1000) / stdout.ms,
    stdout_rss_growth_mib: stdoutPeak - rss0,
    download_mib_s: (MIB * 1000) / down.ms,
    upload_mib_s: (MIB * 1000) / up.ms,
    upload_vs_local_write: local.ms / up.ms,
    transfer_rss_growth_mib: peak - rss0,
  };
}

function watchRss(bed: Testbed): { peak(): number; stop(): number } {
  let peak = bed.serverRssMiB();
  const timer = setInterval(() => {
    peak = Math.max(peak, bed.serverRssMiB());
  }, 100);
  return {
    peak: () => peak,
    stop: () => {
      clearInterval(timer);
      return peak;
    },
  };
}

function check(got: string, expected: string, what: string): void {
  if (got !== expected) throw new Error(`${what}: digest ${got}, expected ${expected}`);
}

async function expectedDigest(bed: Testbed, id: string): Promise<string> {
  const block = await read(bed, id, '/root/block');
  const hash = createHash('sha256');
  for (let i = 0; i < BLOCKS; i++) hash.update(block);
  return hash.digest('hex');
}

function content(bed: Testbed, id: string, method: string, path: string, extra = '') {
  const { port } = new URL(bed.url);
  return request({
    host: '127.0.0.1',
    port,
    method,
    path: `/v1/sandboxes/${id}/files/content?path=${encodeURIComponent(path)}${extra}`,
    headers: { authorization: `Bearer ${bed.key}` },
  });
}

function read(bed: Testbed, id: string, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    content(bed, id, 'GET', path)
      .on('response', (res) =>
        res
          .on('data', (c: Buffer) => chunks.push(c))
          .on('end', () => resolve(Buffer.concat(chunks)))
          .on('error', reject),
      )
      .on('error', reject)
      .end();
  });
}

function download(bed: Testbed, id: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const hash = createHash('sha256');
    content(bed, id, 'GET', path)
      .on('response', (res) =>
        res
          .on('data', (c: Buffer) => hash.update(c))
          .on('end', () => resolve(hash.digest('hex')))
          .on('error', reject),
      )
      .on('error', reject)
      .end();
  });
}

function upload(bed: Testbed, id: string, path: string, block: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const req = content(bed, id, 'PUT', path, '&fsync=true');
    req.on('error', reject);
    req.on('response', (res) => {
      let text = '';
      res.on('data', (c: Buffer) => {
        text += c.toString();
      });
      res.on('end', () =>
        res.statusCode === 200 || res.statusCode === 201
          ? resolve()
          : reject(new Error(`upload: ${res.statusCode} ${text}`)),
      );
    });
    let blocks = 0;
    let at = 0;
    const pump = () => {
      while (blocks < BLOCKS) {
        const end = Math.min(at + 262_144, block.length);
        const room = req.write(block.subarray(at, end));
        at = end === block.length ? 0 : end;
        if (at === 0) blocks++;
        if (!room) return void req.once('drain', pump);
      }
      req.end();
    };
    pump();
  });
}
