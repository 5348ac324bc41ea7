import { existsSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import { runTool } from '../tool.ts';
import { type RegistrySettings, writeRegistriesConf } from './registry-settings.ts';

/** A manifest that is larger is none. */
const MANIFEST_MAX = 4 * 1024 ** 2;
const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** Runs skopeo(1) for one pull, in a directory of its own. Everything it needs it is told: it reads no one's home directory. */
export class Skopeo {
  readonly #settings: RegistrySettings;
  readonly #globals: string[];
  readonly #auth: string[];
  readonly #signal: AbortSignal;
  readonly #canceled: AbortSignal;

  constructor(settings: RegistrySettings, directory: string, canceled: AbortSignal) {
    const conf = writeRegistriesConf(settings, directory);
    this.#settings = settings;
    this.#canceled = canceled;
    this.#signal = AbortSignal.any([canceled, AbortSignal.timeout(settings.timeoutS * 1000)]);
    this.#globals = [
      '--override-os=linux',
      `--override-arch=${ARCHITECTURE}`,
      `--tmpdir=${directory}`,
      ...(conf === null ? [] : [`--registries-conf=${conf}`]),
      ...(existsSync('/etc/containers/policy.json') ? [] : ['--insecure-policy']),
    ];
    this.#auth = settings.authFile === undefined ? [] : [`--authfile=${settings.authFile}`];
  }

  /** The manifest or index as the registry has it. */
  async manifest(reference: string): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    await this.#run(['inspect', '--raw', ...this.#auth, `docker://${reference}`], (chunk) => {
      bytes += chunk.length;
      if (bytes <= MANIFEST_MAX) chunks.push(chunk);
    });
    if (bytes > MANIFEST_MAX) throw new VivError('invalid_image', `the manifest is larger than ${MANIFEST_MAX} bytes`);
    return Buffer.concat(chunks);
  }

  /** Copies one image into an OCI layout. Blobs that lie there are not fetched. `stop` ends it with an error of the caller's. */
  async copy(reference: string, layout: string, onLine: (line: string) => void, stop: AbortSignal): Promise<void> {
    const args = ['copy', ...this.#auth.map((each) => each.replace('--authfile', '--src-authfile'))];
    await this.#run(
      [...args, `docker://${reference}`, `oci:${layout}:image`],
      (chunk) => {
        for (const line of chunk.toString('utf8').split('\n'))
          if (line.trim() !== '') onLine(line.trim().slice(0, 200));
      },
      stop,
    );
  }

  async #run(args: readonly string[], onStdout: (chunk: Buffer) => void, stop?: AbortSignal): Promise<void> {
    const signal = stop ? AbortSignal.any([this.#signal, stop]) : this.#signal;
    try {
      await runTool('skopeo', [...this.#globals, ...args], { signal, onStdout, package: 'skopeo' });
    } catch (thrown) {
      this.#canceled.throwIfAborted();
      stop?.throwIfAborted();
      if (this.#signal.aborted)
        throw new VivError(
          'import_failed',
          `the registry took longer than ${this.#settings.timeoutS} s; nothing was kept`,
          {
            hint: 'Raise timeoutS in the node’s registries.json.',
          },
        );
      throw inItsWords(VivError.from(thrown));
    }
  }
}

/** The message of its log line, without the rest. */
function inItsWords(error: VivError): VivError {
  const output = error.details.output;
  const message = typeof output === 'string' ? /level=fatal msg="((?:[^"\\]|\\.)*)"/.exec(output)?.[1] : undefined;
  if (error.code !== 'import_failed' || message === undefined) return error;
  const said = message.replace(/\\(["\\])/g, '$1');
  return new VivError('import_failed', `skopeo: ${said}`, { details: error.details, cause: error });
}
