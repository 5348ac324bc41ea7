import type { Key } from '@vivarium/protocol';
import type { E2bContext } from '../context.ts';
import type { BuildRow } from '../store/build-table.ts';
import type { TemplateSource } from './template-source.ts';
import { imageOfBuild, taggedBuild } from './templates-find.ts';
import { type StartCommands, startTemplate } from './templates-start.ts';

/** Longest wait for a new sandbox's ready command; most clients give up before. */
const READY_MS = 600_000;

/** A template of the caller or a public one, by id, name or either with `:tag`. Undefined: there is none. Throws `image_not_found` for a tag it has not. */
export function resolveTemplate(context: E2bContext, key: Key, text: string): TemplateSource | undefined {
  const found = taggedBuild(context, key, text);
  if (!found) return undefined;
  const { template, build } = found;
  const image = imageOfBuild(build);
  const limits = limitsOf(build);
  const run = starter(build);
  return {
    templateID: template.id,
    alias: template.name,
    image,
    user: context.edge.images.get(image).config.user ?? 'user',
    ...(limits && { limits }),
    start: async (edge, sandbox, signal) => {
      context.store.templates.spawned(template.id, Date.now());
      await run?.(edge, sandbox, signal);
    },
  };
}

function starter(commands: StartCommands): TemplateSource['start'] {
  if (commands.startCmd === '' && commands.readyCmd === '') return undefined;
  return (edge, sandbox, signal) =>
    startTemplate(edge, sandbox, commands, { signal, timeoutMs: READY_MS, log: () => {} });
}

/** What was asked for; the rest is the node's default. */
export function limitsOf({ cpus, memoryMiB, diskMiB }: BuildRow): TemplateSource['limits'] {
  const limits = {
    ...(cpus !== null && { cpus }),
    ...(memoryMiB !== null && { memoryMiB }),
    ...(diskMiB !== null && { diskMiB }),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}
