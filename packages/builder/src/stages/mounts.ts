/** The fields of a `--mount=type=cache,target=/x,readonly`. Names in lower case; one without `=` is `true`. Quotes as in CSV. */
export function mountFields(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [field] of text.matchAll(/("(?:[^"]|"")*"|[^,])+/g)) {
    const plain = field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field;
    const cut = plain.indexOf('=');
    const name = (cut < 0 ? plain : plain.slice(0, cut)).trim().toLowerCase();
    fields.set(ALIASES[name] ?? name, cut < 0 ? 'true' : plain.slice(cut + 1));
  }
  return fields;
}

const ALIASES: Record<string, string> = {
  dst: 'target',
  destination: 'target',
  src: 'source',
  ro: 'readonly',
  rw: 'readwrite',
};
