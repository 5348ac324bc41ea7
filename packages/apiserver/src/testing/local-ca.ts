import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Files of an authority and of a certificate that it signed, for a domain and all names one label below it. As docs/tls.md tells. */
export class LocalCa {
  readonly directory = mkdtempSync(join(tmpdir(), 'viv-ca-'));
  readonly ca = join(this.directory, 'ca.pem');
  readonly cert = join(this.directory, 'viv.pem');
  readonly key = join(this.directory, 'viv.key');

  constructor(domain: string) {
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const constraints = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign'];
    this.#openssl(
      'req',
      '-x509',
      ...ec,
      '-days',
      '2',
      '-subj',
      '/CN=local CA',
      ...constraints,
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
    );
    this.sign(domain);
  }

  /** Another key and certificate in the same files. */
  sign(domain: string): void {
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    this.#openssl('req', ...ec, '-subj', `/CN=${domain}`, '-keyout', 'viv.key', '-out', 'viv.csr');
    writeFileSync(
      join(this.directory, 'ext'),
      `subjectAltName=DNS:${domain},DNS:*.${domain}\nextendedKeyUsage=serverAuth\n`,
    );
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
    this.#openssl('x509', '-req', '-in', 'viv.csr', ...by, '-days', '2', '-extfile', 'ext', '-out', 'viv.pem');
  }

  /** The texts of certificate and key. */
  files(): { cert: string; key: string } {
    return { cert: readFileSync(this.cert, 'utf8'), key: readFileSync(this.key, 'utf8') };
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  #openssl(...argv: string[]): void {
    execFileSync('openssl', argv, { cwd: this.directory, stdio: 'ignore' });
  }
}
