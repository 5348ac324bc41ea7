import { taskInvalid } from './complaint.ts';
import type { TaskWarning } from './task.ts';
import type { TomlFile } from './toml-file.ts';

type Table = Record<string, unknown>;
const MIB_PER_UNIT: Record<string, number> = { K: 1 / 1024, M: 1, G: 1024, T: 1_048_576 };

/**
 * The same document in today's words: `version`, `memory`, `storage`, `allow_internet` under their new names, an artifact
 * that is only a path as a table. The new name wins where both are given.
 */
export function modernised(toml: TomlFile, warnings: TaskWarning[]): Table {
  const { version, ...data } = structuredClone(toml.data);
  if (version !== undefined) data.schema_version ??= version;
  for (const { table, field } of environmentsOf(data)) {
    for (const [old, now] of [
      ['memory', 'memory_mb'],
      ['storage', 'storage_mb'],
    ] as const) {
      if (!(old in table)) continue;
      const size = mebibytes(toml, `${field}.${old}`, table[old]);
      table[now] ??= size;
      retire(old, now);
    }
    if ('allow_internet' in table) {
      if (typeof table.allow_internet !== 'boolean') {
        const where = place(toml, `${field}.allow_internet`);
        throw taskInvalid(where, 'expected true or false');
      }
      table.network_mode ??= table.allow_internet || isFilled(table.allowed_hosts) ? table.network_mode : 'no-network';
      if (table.network_mode === undefined) delete table.network_mode;
      retire('allow_internet', 'network_mode');
    }
    function retire(old: string, now: string): void {
      delete table[old];
      warnings.push({ file: toml.file, field: `${field}.${old}`, message: `is deprecated; write ${now}` });
    }
  }
  for (const holder of [data, ...tables(data.steps)]) {
    if (Array.isArray(holder.artifacts))
      holder.artifacts = holder.artifacts.map((item) => (typeof item === 'string' ? { source: item } : item));
  }
  return data;
}

/** Every table that has the schema of [environment]. */
function environmentsOf(data: Table): { table: Table; field: string }[] {
  const verifiers = [
    { verifier: data.verifier, field: 'verifier.environment' },
    ...tables(data.steps).map(({ verifier }, n) => ({ verifier, field: `steps[${n}].verifier.environment` })),
  ];
  return [
    { table: data.environment, field: 'environment' },
    ...verifiers.map(({ verifier, field }) => ({ table: isTable(verifier) ? verifier.environment : undefined, field })),
  ].filter((item): item is { table: Table; field: string } => isTable(item.table));
}

function mebibytes(toml: TomlFile, field: string, value: unknown): number {
  const match = typeof value === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?\s*$/i.exec(value) : null;
  if (match === null) throw taskInvalid(place(toml, field), 'expected a size such as "2G" or "512M"');
  return Math.floor(Number(match[1]) * MIB_PER_UNIT[match[2]!.toUpperCase()]!);
}

function place(toml: TomlFile, field: string) {
  return { file: toml.file, field, line: toml.lineOf([field]) };
}

const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0;
const tables = (value: unknown): Table[] => (Array.isArray(value) ? value.filter(isTable) : []);
function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
