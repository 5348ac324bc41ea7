import type { Exec } from '@vivarium/protocol';
import type { KeptOutput } from '../journal/kept-output.ts';
import type { RunningExec } from './running-exec.ts';

/** Ended commands that are still in memory, over all sandboxes. Older ones are read from the journal. */
const REMEMBERED = 4096;

export type EndedExec = { exec: Exec; stdout: KeptOutput; stderr: KeptOutput };

/** The commands that ended last. */
export class EndedExecs {
  readonly #map = new Map<string, EndedExec>();

  add(exec: RunningExec): void {
    this.put({ exec: exec.view(), stdout: exec.stdout.kept, stderr: exec.stderr.kept });
  }

  put(ended: EndedExec): void {
    if (this.#map.size >= REMEMBERED) this.#map.delete(this.#map.keys().next().value!);
    this.#map.set(ended.exec.id, ended);
  }

  get(sandbox: string, id: string): EndedExec | undefined {
    const found = this.#map.get(id);
    return found?.exec.sandbox === sandbox ? found : undefined;
  }
}
