import type { FnResult as FnWire } from '@vivarium/protocol/fn.ts';
import { fromBase64, toText } from './bytes.ts';
import { ExecResult } from './exec-result.ts';

/** How a call ended: the result of its last command, that of the compiler, and the files that were asked for. */
export class FnResult extends ExecResult {
  /** Null where nothing was compiled. When it failed, this result is the same. */
  readonly compile: ExecResult | null;
  readonly stage: FnWire['stage'];
  /** What `filesOut` asked for, under the paths it used; what its patterns matched beneath `cwd` is relative to it. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** What was asked for and is not in `files`, and why. */
  readonly filesLeft: FnWire['filesLeft'];
  /** No container was ready: one was made. */
  readonly cold: boolean;
  readonly durations: FnWire['durations'];
  /** Its name, should the call belong to one. */
  readonly session: string | null;

  constructor(wire: FnWire) {
    const {
      stdoutB64,
      stderrB64,
      image: _image,
      stage,
      compile,
      files,
      filesLeft,
      cold,
      durations,
      session,
      ...exec
    } = wire;
    super(exec, fromBase64(stdoutB64), fromBase64(stderrB64));
    this.compile = compile && ExecResult.fromWire(compile);
    this.stage = stage;
    this.files = new Map(files.map(({ path, contentB64 }) => [path, fromBase64(contentB64)]));
    this.filesLeft = filesLeft;
    this.cold = cold;
    this.durations = durations;
    this.session = session;
  }

  /** A file of the result as text; undefined when it did not come. */
  text(path: string): string | undefined {
    const content = this.files.get(path);
    return content && toText(content);
  }

  override toJSON(): Record<string, unknown> {
    const { stage, session, cold, durations, filesLeft, compile } = this;
    const files = [...this.files].map(([path, content]) => ({
      path,
      sizeBytes: content.length,
      text: toText(content),
    }));
    return { ...super.toJSON(), stage, session, cold, durations, compile: compile?.toJSON() ?? null, files, filesLeft };
  }
}
