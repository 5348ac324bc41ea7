import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type {
  FnCall,
  FnPool,
  FnResult,
  FnService,
  FnSession,
  FnWarm,
  Idempotency,
  Owner,
} from '@vivarium/edge/edge.ts';
import { type ExecResult, type Outcome, VivError } from '@vivarium/protocol';
import { AT, fakeId } from './fake-sandboxes.ts';

/** What the program of a call does, by what its code (or its last argument) says. */
const ENDINGS: Record<string, Outcome> = {
  fail: { type: 'exited', code: 3 },
  crash: { type: 'signaled', signal: 11 },
  slow: { type: 'timeout' },
  hog: { type: 'oom' },
  lost: { type: 'sandbox_lost' },
};

/**
 * Calls without containers. The image has `programs`; a compiler fails on code that says `wrong`, all else prints its argv and what it
 * reads, and leaves the files that came plus `made.txt`.
 */
export class FakeFn implements FnService {
  programs = new Set(['sh', 'bash', 'python3', 'gcc']);
  readonly calls: FnCall[] = [];
  readonly owners: Owner[] = [];
  /** Thrown by the next call. */
  refusal: VivError | undefined;
  readonly #kept = new Map<string, { hash: string; result: FnResult }>();
  readonly #sessions = new Map<string, FnSession>();
  readonly #pools: FnPool[] = [];

  async run(call: FnCall, owner: Owner, idempotency?: Idempotency): Promise<FnResult> {
    if (this.refusal) throw this.refusal;
    const before = idempotency && this.#kept.get(idempotency.key);
    if (before && before.hash !== idempotency.requestHash) throw new VivError('idempotency_mismatch', 'another call');
    if (before) return before.result;
    this.calls.push(call);
    this.owners.push(owner);
    const result = this.#result(call);
    if (idempotency) this.#kept.set(idempotency.key, { hash: idempotency.requestHash, result });
    if (call.session) this.#sessions.set(`${owner.keyId}/${call.session.name}`, session(call, owner, result.sandbox));
    return result;
  }

  async warm({ image, limits, count }: FnWarm, owner: Owner): Promise<FnPool> {
    const counts = { ready: count, busy: 0, preparing: 0, wanted: count, calls: 0, coldCalls: 0 };
    const pool = { image, limits, owner: owner.keyId, ...counts };
    this.#pools.push(pool);
    return pool;
  }

  pools = (owner?: string) => this.#pools.filter((pool) => owner === undefined || pool.owner === owner);
  sessions = (owner?: string) =>
    [...this.#sessions.values()].filter((one) => owner === undefined || one.owner === owner);

  async endSession(name: string, owner: Owner): Promise<void> {
    if (!this.#sessions.delete(`${owner.keyId}/${name}`)) throw new VivError('session_not_found', `no session ${name}`);
  }

  #result(call: FnCall): FnResult {
    const code = call.files.find(({ path }) => path.startsWith('main'))?.content;
    const says = code ? Buffer.from(code).toString('utf8') : (call.run.argv.at(-1) ?? '');
    const sandbox = fakeId();
    const compile = call.compile ? this.#step(sandbox, call.compile.argv, says === 'wrong' ? 'fail' : '') : null;
    const run = compile && compile.exitCode !== 0 ? null : this.#step(sandbox, call.run.argv, says, call.stdin);
    const left = [...call.files, { path: 'made.txt', content: Buffer.from('made') }];
    const there = new Map(left.map(({ path, content }) => [posix.resolve(call.cwd ?? '/', path), content]));
    const asked = call.filesOut.map((path) => posix.resolve(call.cwd ?? '/', path.replaceAll('\\', '')));
    const files = asked
      .filter((path) => there.has(path))
      .map((path) => ({ path, content: there.get(path)!, mode: 0o644 }));
    const filesLeft = asked.filter((path) => !there.has(path)).map((path) => ({ path, reason: 'not_found' }));
    const durations = { waitMs: 1, filesInMs: 1, compileMs: 1, runMs: 1, filesOutMs: 1, totalMs: 5 };
    return { sandbox, compile, run, files, filesLeft, cold: false, durations };
  }

  #step(sandbox: string, argv: string[], says: string, stdin: Uint8Array = Buffer.alloc(0)): ExecResult {
    const program = argv[0]!.split('/').at(-1)!;
    const there = argv[0]!.startsWith('./') || this.programs.has(program);
    if (!there) return step(sandbox, argv, { type: 'exited', code: 127 }, '', 'no such file or directory');
    const isLook = argv[1] === '-c' && argv[2]!.includes('command -v');
    const text = isLook
      ? argv
          .slice(4)
          .filter((name) => this.programs.has(name))
          .join('\n')
      : `${argv.join(' ')}|${Buffer.from(stdin).toString('utf8')}`;
    return step(sandbox, argv, ENDINGS[says] ?? { type: 'exited', code: 0 }, text, null);
  }
}

function step(sandbox: string, argv: string[], outcome: Outcome, output: string, message: string | null): ExecResult {
  const bytes = Buffer.from(output);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const exitCode = outcome.type === 'exited' ? outcome.code : 137;
  const [user, cwd, pty, label] = [null, null, false, null];
  return {
    ...{ id: fakeId(), sandbox, seq: 0, argv, user, cwd, pty, label, state: 'ended', pid: 7, startedAt: AT },
    ...{ endedAt: AT, durationMs: 1, outcome, exitCode, message, annotations: [], cpuMs: 1, maxRssKiB: 1 },
    stdout: { bytes: bytes.length, keptBytes: bytes.length, truncated: false, sha256 },
    stderr: { bytes: 0, keptBytes: 0, truncated: false, sha256: null },
    stdoutB64: bytes.toString('base64'),
    stderrB64: '',
  };
}

function session({ image, session: asked }: FnCall, owner: Owner, sandbox: string): FnSession {
  return { name: asked!.name, owner: owner.keyId, sandbox, image, running: null, lastUsedAt: Date.parse(AT) };
}
