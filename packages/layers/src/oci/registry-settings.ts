import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { z } from 'zod';
import { readSettings } from '../settings-file.ts';

const FILE = 'registries.json';
const HINT =
  'It is one JSON object: {"mirrors": {"docker.io": "http://127.0.0.1:5000"}, "plainHttp": ["127.0.0.1:5000"]}.';
const host = z.string().regex(/^[A-Za-z0-9.-]+(:[0-9]{1,5})?$/, 'a host is NAME or NAME:PORT');

/** How this node reaches registries: `STATE/registries.json`, read anew for each pull. */
export const RegistrySettings = z.strictObject({
  /** Registry host → where to look first, as `http://127.0.0.1:5000` or `https://HOST/PREFIX`. */
  mirrors: z
    .record(
      host,
      z.string().regex(/^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?(\/[a-z0-9._/-]+)?\/?$/, 'a mirror is an http(s) URL'),
    )
    .default({}),
  /** Hosts that are spoken to without TLS. No others are. */
  plainHttp: z.array(host).max(100).default([]),
  /** The only hosts that references may name; without it any. An empty list: none. */
  only: z.array(host).max(100).optional(),
  /** Passwords, as docker login and skopeo login write them. */
  authFile: z.string().startsWith('/').optional(),
  timeoutS: z.number().int().min(1).max(86_400).default(1800),
});
export type RegistrySettings = z.infer<typeof RegistrySettings>;

/** Throws `precondition_failed` that says what is wrong with the file. */
export function readRegistrySettings(stateDir: string): RegistrySettings {
  return readSettings(join(stateDir, FILE), RegistrySettings, HINT) ?? RegistrySettings.parse({});
}

/** Throws `forbidden` for a host that this node must not ask. Nothing was sent. */
export function checkRegistryAllowed({ only }: RegistrySettings, registry: string, reference: string): void {
  if (only === undefined || only.includes(registry)) return;
  const allowed = only.length === 0 ? 'none' : only.join(', ');
  throw new VivError(
    'forbidden',
    `this node asks no registry ${registry}, which ${reference} names (allowed: ${allowed})`,
    {
      details: { reference, registry, only },
      hint: `Import the image from a file (--oci), map the reference to an image that is there, or add ${registry} to "only" in the node's ${FILE}.`,
    },
  );
}

/**
 * The same as containers-registries.conf(5), in `directory`; null where nothing is set: the host's own applies. A mirror is asked first,
 * then the registry itself.
 */
export function writeRegistriesConf({ mirrors, plainHttp }: RegistrySettings, directory: string): string | null {
  const hosts = new Set([...Object.keys(mirrors), ...plainHttp]);
  if (hosts.size === 0) return null;
  const lines = ['unqualified-search-registries = []', 'short-name-mode = "disabled"'];
  for (const name of hosts) {
    lines.push('[[registry]]', `prefix = "${name}"`, `location = "${name}"`, `insecure = ${plainHttp.includes(name)}`);
    const mirror = mirrors[name];
    if (mirror === undefined) continue;
    const location = mirror.replace(/^https?:\/\//, '').replace(/\/+$/, '');
    lines.push('[[registry.mirror]]', `location = "${location}"`, `insecure = ${mirror.startsWith('http://')}`);
  }
  const path = join(directory, 'registries.conf');
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return path;
}
