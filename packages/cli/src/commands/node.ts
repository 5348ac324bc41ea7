import type { NodeInfo } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson, style } from '../console.ts';
import { withServer } from '../one.ts';
import { formatBytes, formatSeconds } from '../units.ts';

export function define(command: Command): void {
  command.option('--json', 'one JSON document').action((flags: ConnectionOptions & { json?: boolean }) =>
    withServer(flags, async (viv) => {
      const info = await viv.node();
      if (flags.json) printJson(info);
      else print(`server     ${viv.url}\n${describeNode(info)}`);
    }),
  );
}

export function describeNode(info: NodeInfo): string {
  const { sandboxes, execs, memory, disk, pressure } = info;
  return [
    `node       ${info.id}`,
    `version    ${info.version}, up ${formatSeconds(info.uptimeS)}`,
    `sandboxes  ${sandboxes.live} live (${sandboxes.running} running, ${sandboxes.paused} paused), ${sandboxes.createdTotal} since the start`,
    `commands   ${execs.running} running, ${execs.total} since the start`,
    `load       ${pressure.loadAvg.join(' ')} on ${pressure.cpus} CPUs, ${pressure.cpuBusyPct} % busy, ${pressure.stealPct} % stolen`,
    `memory     ${formatBytes(memory.availableBytes)} of ${formatBytes(memory.totalBytes)} free; server ${formatBytes(memory.serverRssBytes)}`,
    `disk       ${formatBytes(disk.freeBytes)} of ${formatBytes(disk.totalBytes)} free`,
    ...info.capabilities.map(
      ({ name, kind, ok, reason }) =>
        `${ok ? style.green('yes') : style.yellow('no ')}        ${kind ? `${kind}: ` : ''}${name}${reason ? ` (${reason})` : ''}`,
    ),
  ].join('\n');
}
