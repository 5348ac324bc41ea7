import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type BuildEvent, type BuildOptions, collect, type Image } from '@vivarium/sdk';
import { packContext } from '@vivarium/sdk/node';
import { busyboxTar } from './busybox.ts';
import { startTestNode, type TestNode } from './node.ts';

export const BUSYBOX = 'base/busybox@1';

export type BuildNode = {
  node: TestNode;
  /** Where contexts and files of the test lie. */
  work: string;
  /** Writes a context; `Dockerfile` begins with FROM the small image unless it has one. */
  context(dockerfile: string, files?: Record<string, string>): string;
  build(directory: string, options?: Partial<BuildOptions>): Promise<{ image: Image; events: BuildEvent[] }>;
  /** What a build must not leave behind, and the steps that are kept. */
  leftovers(): Promise<{ sandboxes: number; temporary: string[]; steps: number }>;
  close(): Promise<void>;
};

/** A node with an image of a megabyte, for tests of builds. */
export async function startBuildNode(): Promise<BuildNode> {
  const work = mkdtempSync(join(tmpdir(), 'viv-build-'));
  const node = await startTestNode({ image: false });
  await node.viv.images.importTar(BUSYBOX, busyboxTar(work));
  let contexts = 0;
  let images = 0;
  return {
    node,
    work,
    context: (dockerfile, files = {}) => {
      const directory = join(work, `context-${contexts++}`);
      const source = /^(ARG|FROM|#)/.test(dockerfile) ? dockerfile : `FROM ${BUSYBOX}\n${dockerfile}`;
      for (const [path, content] of Object.entries({ Dockerfile: source, ...files })) {
        mkdirSync(dirname(join(directory, path)), { recursive: true });
        writeFileSync(join(directory, path), content);
      }
      return directory;
    },
    build: async (directory, options = {}) => {
      const events: BuildEvent[] = [];
      const onProgress = (event: BuildEvent) => void events.push(event);
      const name = `built/n${images++}@1`;
      const image = await node.viv.images.build({ name, ...(await packContext(directory)), onProgress, ...options });
      return { image, events };
    },
    leftovers: async () => {
      const all = await collect(node.viv.images.list({ all: true }));
      const sandboxes = await collect(node.viv.sandboxes.list());
      return {
        sandboxes: sandboxes.filter(({ info }) => !['ended', 'failed'].includes(info.state)).length,
        temporary: readdirSync(join(node.paths.stateDir, 'tmp')),
        steps: all.filter(({ name }) => name.startsWith('cache/')).length,
      };
    },
    close: async () => {
      await node.purge();
      rmSync(work, { recursive: true, force: true });
    },
  };
}

/** Steps that were run, not found. */
export function made(events: readonly BuildEvent[]): number {
  return events.filter((event) => event.type === 'step' && event.cached === false).length;
}

/** What the steps said. */
export function said(events: readonly BuildEvent[]): string {
  return events.map((event) => (event.type === 'output' ? event.text : '')).join('');
}
