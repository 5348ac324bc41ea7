/**
 * What a person sets up for host names and TLS, on one machine and without touching it: a local certificate authority, a
 * certificate for `*.<domain>`, and a name server that answers 127.0.0.1 to everything. Programs that should see it run in a
 * mount namespace of their own, with their own /etc/resolv.conf.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const DOMAIN = 'sandboxes.test';

export type HostNames = {
  /** PEM files. */
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
  /** Runs a program that resolves every name to this machine and trusts the authority; rejects when it fails. */
  run(argv: string[], env: Record<string, string>): Promise<{ stdout: string; stderr: string }>;
  close(): void;
};

export async function setUpHostNames(): Promise<HostNames> {
  const directory = mkdtempSync(join(tmpdir(), 'viv-names-'));
  const file = (name: string) => join(directory, name);
  makeCertificates(directory);
  const { server, address } = await startNameServer();
  writeFileSync(file('resolv.conf'), `nameserver ${address}\noptions timeout:2 attempts:2\n`);
  writeFileSync(file('nsswitch.conf'), 'hosts: files dns\n');
  return {
    certificate: file('server.pem'),
    key: file('server.key'),
    authority: file('ca.pem'),
    run: (argv, env) => runSeeing(directory, argv, { NODE_EXTRA_CA_CERTS: file('ca.pem'), ...env }),
    close: () => {
      server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The recipe of docs/e2b.md. */
function makeCertificates(directory: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: directory, stdio: 'pipe' });
  const subject = ['-subj', '/CN=Vivarium test authority'];
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    ...subject,
  );
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'server.key',
    '-out',
    'server.csr',
    '-subj',
    `/CN=${DOMAIN}`,
  );
  writeFileSync(join(directory, 'names'), `subjectAltName=DNS:${DOMAIN},DNS:*.${DOMAIN}\n`);
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2'];
  openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.pem', ...signed);
}

function runSeeing(
  directory: string,
  argv: string[],
  env: Record<string, string>,
): Promise<{ stdout: string; stderr: string }> {
  const mounts = ['resolv.conf', 'nsswitch.conf'].map((name) => `mount --bind ${directory}/${name} /etc/${name}`);
  const script = `${mounts.join(' && ')} && exec "$@"`;
  const child = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', ...argv], { env: { ...process.env, ...env } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve({ stdout, stderr });
      else reject(new Error(`it ended with ${code}\n${stdout}\n${stderr}`));
    });
  });
}

/** Port 53 of a loopback address that nobody else is likely to use. */
async function startNameServer(): Promise<{ server: Socket; address: string }> {
  for (let tries = 0; ; tries += 1) {
    const part = () => 1 + Math.floor(Math.random() * 254);
    const address = `127.53.${part()}.${part()}`;
    const server = createSocket('udp4');
    const bound = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.bind(53, address, () => resolve(true));
    });
    if (bound) {
      server.on('message', (query, from) => server.send(answer(query), from.port, from.address));
      return { server, address };
    }
    if (tries === 20) throw new Error('no address for a name server');
  }
}

/** RFC 1035: the question again; for type A 127.0.0.1, for all others nothing. */
function answer(query: Buffer): Buffer {
  let end = 12;
  while (query[end] !== undefined && query[end] !== 0) end += query[end]! + 1;
  end += 5;
  const isAddress = query.readUInt16BE(end - 4) === 1;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(isAddress ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat([head, query.subarray(12, end), ...(isAddress ? [record] : [])]);
}
