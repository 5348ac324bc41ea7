/** Templates as tests build them: with the published client, on a node of their own, and what the builds said. */
import assert from 'node:assert/strict';
import { BuildError, type LogEntry, Sandbox, Template, type TemplateClass } from 'e2b';
import { type E2bNode, startE2bNode } from './e2b.ts';

export type Built = { name: string; templateId: string; buildId: string; tags: string[]; log: string[] };
export type BuildChoice = { name?: string; skipCache?: boolean; tags?: string[]; cpuCount?: number; memoryMB?: number };
export type Failed = { message: string; step: string | undefined; log: string[] };

export class TemplateBed {
  readonly e2b: E2bNode;
  #count = 0;

  constructor(e2b: E2bNode) {
    this.e2b = e2b;
  }

  static async open(): Promise<TemplateBed> {
    return new TemplateBed(await startE2bNode());
  }

  /** Under a name of its own, if none is given. */
  async build(template: TemplateClass, options: BuildChoice = {}): Promise<Built> {
    const { name = this.#name(), ...rest } = options;
    const log: string[] = [];
    const onBuildLogs = ({ message }: LogEntry) => void log.push(message);
    const info = await Template.build(template, name, { ...this.e2b.connection, ...rest, onBuildLogs });
    return { ...info, name, log };
  }

  /** Why the build fails, as its status tells. */
  async failing(template: TemplateClass): Promise<Failed> {
    const log: string[] = [];
    const onBuildLogs = ({ message }: LogEntry) => void log.push(message);
    await assert.rejects(
      Template.build(template, this.#name(), { ...this.e2b.connection, onBuildLogs }),
      (error) => error instanceof BuildError && error.message !== '',
    );
    const [, templateId, buildId] = /ID: (\S+), Build ID: (\S+)/.exec(log.join('\n'))!;
    const info = { templateId: templateId!, buildId: buildId! };
    const { status, reason } = await Template.getBuildStatus(info, this.e2b.connection);
    assert.equal(status, 'error');
    return { message: reason!.message, step: reason!.step, log };
  }

  /** What a command says in a sandbox of the template. */
  async said(template: string, command: string): Promise<string> {
    const sandbox = await Sandbox.create(template, this.e2b.connection);
    try {
      return (await sandbox.commands.run(command)).stdout;
    } finally {
      await sandbox.kill();
    }
  }

  close(): Promise<void> {
    return this.e2b.close();
  }

  #name(): string {
    return `test-${++this.#count}`;
  }
}
