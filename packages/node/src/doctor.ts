import { probeContainerCapabilities } from '@vivarium/edge/drivers/container/capabilities.ts';
import type { Capability } from '@vivarium/protocol';
import { machineChecks } from './machine.ts';

export type DoctorOptions = { json: boolean };

/** Prints what this machine can do per kind and feature. Exit code 0 when container sandboxes work, 6 when not. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const machine = machineChecks();
  const basics = machine.every((row) => row.ok);
  const containers = basics ? probeContainerCapabilities() : [];
  const rows = [...machine, ...containers, calls(basics && containers.every(({ ok }) => ok)), ...laterKinds()];
  process.stdout.write(options.json ? `${JSON.stringify({ capabilities: rows }, null, 2)}\n` : table(rows));
  return basics && rows.every((row) => row.ok || row.kind !== 'container') ? 0 : 6;
}

/** Containers for calls are containers. */
function calls(ok: boolean): Capability {
  if (ok) return { name: 'fn', kind: 'fn', ok, reason: 'warm containers, clean for every call', remedy: null };
  return { name: 'fn', kind: 'fn', ok, reason: 'needs what containers need', remedy: 'see the rows of kind container' };
}

/** Kinds that the API knows and this version can't boot yet. */
function laterKinds(): Capability[] {
  return (['microvm', 'vm'] as const).map((kind) => ({
    name: kind,
    kind,
    ok: false,
    reason: 'this version of Vivarium has no driver for it',
    remedy: 'use kind container',
  }));
}

function table(rows: Capability[]): string {
  const width = Math.max(...rows.map((row) => row.name.length));
  const lines = rows.map((row) => {
    const kind = (row.kind ?? 'machine').padEnd(9);
    if (row.ok) return `ok  ${kind}  ${row.name.padEnd(width)}  ${row.reason ?? ''}`.trimEnd();
    return `--  ${kind}  ${row.name.padEnd(width)}  ${row.reason}\n${' '.repeat(width + 17)}${row.remedy ?? ''}`.trimEnd();
  });
  return `${lines.join('\n')}\n`;
}
