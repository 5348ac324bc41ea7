import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ARCHIVE_KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Where packages of a Debian suite come from, as one-line sources for mmdebstrap: what the host's own apt uses for that suite, its
 * updates and security suites. Empty where the host uses none of them: mmdebstrap then takes its default mirror.
 */
export function hostSources(suite: string, aptDirectory = '/etc/apt'): string[] {
  const wanted = [suite, `${suite}-updates`, `${suite}-security`];
  const found = new Map<string, string>();
  for (const { uri, suites, components } of sourceFiles(aptDirectory).flatMap(parse)) {
    if (!/^https?:\/\//.test(uri) || !components.includes('main')) continue;
    for (const name of suites) {
      if (wanted.includes(name) && !found.has(name))
        found.set(name, `deb [signed-by=${ARCHIVE_KEYRING}] ${uri} ${name} main`);
    }
  }
  if (!found.has(suite)) return [];
  return wanted.flatMap((name) => found.get(name) ?? []);
}

type AptSource = { uri: string; suites: string[]; components: string[] };
type SourceFile = { deb822: boolean; text: string };

function sourceFiles(directory: string): SourceFile[] {
  const parts = list(join(directory, 'sources.list.d')).map((name) => join(directory, 'sources.list.d', name));
  return [join(directory, 'sources.list'), ...parts]
    .filter((path) => /\.(list|sources)$/.test(path))
    .flatMap((path) => {
      const text = read(path);
      return text === null ? [] : [{ deb822: path.endsWith('.sources'), text }];
    });
}

/** Both forms of sources.list(5). Sources signed with another key than Debian's are someone else's packages and left out. */
function parse({ deb822, text }: SourceFile): AptSource[] {
  return deb822 ? text.split(/\n\s*\n/).flatMap(parseStanza) : text.split('\n').flatMap(parseLine);
}

function parseLine(line: string): AptSource[] {
  const match = /^deb\s+(\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)$/.exec(line.replace(/#.*/, '').trim());
  if (!match || isForeign(match[1] ?? '')) return [];
  return [{ uri: match[2]!, suites: [match[3]!], components: match[4]!.split(/\s+/) }];
}

function parseStanza(stanza: string): AptSource[] {
  const fields = new Map<string, string>();
  for (const line of stanza.split('\n')) {
    const match = /^([A-Za-z-]+):\s*(.*)$/.exec(line);
    if (match) fields.set(match[1]!.toLowerCase(), match[2]!.trim());
  }
  const words = (name: string) => (fields.get(name) ?? '').split(/\s+/).filter(Boolean);
  if (
    !words('types').includes('deb') ||
    fields.get('enabled') === 'no' ||
    isForeign(`signed-by=${fields.get('signed-by') ?? ''}`)
  )
    return [];
  return words('uris').map((uri) => ({ uri, suites: words('suites'), components: words('components') }));
}

function isForeign(options: string): boolean {
  const signedBy = /signed-by=([^\s\]]*)/i.exec(options)?.[1] ?? '';
  return signedBy !== '' && !/debian-archive/.test(signedBy);
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
