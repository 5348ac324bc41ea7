// A real viv-init and a raw connection to it.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFrame, type Frame, parseTlv, T, type TlvItem, tlv, u32, u64 } from './wire.ts';

const build = join(import.meta.dirname, '..', 'build');
const WAIT_MS = 20_000;

/** One viv-init process under test. `program` is `viv-init` or `asan/viv-init`. */
export class Guest {
  readonly dir = mkdtempSync(join(tmpdir(), 'viv-guest-'));
  readonly socketPath = join(this.dir, 'host.sock');
  readonly child: ChildProcess;
  readonly errors: Buffer[] = [];

  readonly #pid1: boolean;

  constructor(options: { pid1?: boolean } = {}) {
    this.#pid1 = options.pid1 ?? false;
    const program = join(build, process.env.VIV_INIT ?? 'viv-init');
    const args = [...(options.pid1 ? ['--pid1'] : []), this.socketPath, program];
    this.child = spawn(join(build, 'launch'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.child.stderr?.on('data', (bytes: Buffer) => this.errors.push(bytes));
  }

  /** A fresh connection that has said HELLO; configured, unless told otherwise, with nothing. */
  async open(options: { config?: TlvItem[] | false; hello?: boolean } = {}): Promise<Link> {
    await until(() => existsSync(this.socketPath), 'socket');
    const link = new Link(await dial(this.socketPath));
    if (options.hello === false) return link;
    await link.hello();
    if (options.config !== false && !link.configured) {
      link.send(T.CONFIG, 1, tlv(options.config ?? []));
      await link.take(1, T.OK);
    }
    return link;
  }

  /** Pid of viv-init itself: with `pid1` the launcher is its parent. */
  pid(): number {
    const pid = this.child.pid ?? 0;
    return this.#pid1 ? Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) : pid;
  }

  /** Waits until viv-init has ended by itself: its exit code. */
  async ended(): Promise<number | null> {
    await until(() => this.child.exitCode !== null || this.child.signalCode !== null, 'the end of viv-init');
    return this.child.exitCode;
  }

  openDescriptors(): number {
    return readdirSync(`/proc/${this.pid()}/fd`).length;
  }

  rssKiB(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.pid()}/status`, 'utf8'))?.[1]);
  }

  /** Direct children of viv-init, as `state` letters by pid. */
  children(): Map<number, string> {
    const found = new Map<number, string>();
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (Number(parent) === this.pid()) found.set(Number(name), state ?? '');
      } catch {
        // Gone between the listing and the reading.
      }
    }
    return found;
  }

  async close(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      if (!this.#pid1) for (const pid of this.children().keys()) kill(pid);
      this.child.kill('SIGKILL');
      await new Promise((done) => this.child.once('exit', done));
    }
    rmSync(this.dir, { recursive: true, force: true });
    const said = Buffer.concat(this.errors).toString();
    if (/Sanitizer|runtime error/.test(said)) throw new Error(said);
  }
}

/** The host's end: frames out, frames in by stream. Nothing is acknowledged unless a test does so. */
export class Link {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  bootNonce: Buffer = Buffer.alloc(0);
  configured = false;
  states: { stream: number; state: Map<number, Buffer> }[] = [];
  closed = false;
  #rest = Buffer.alloc(0);
  #waiting: (() => void)[] = [];
  #nextId = 1;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes) => this.#parse(bytes));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
  }

  #parse(bytes: Buffer): void {
    let rest = this.#rest.length ? Buffer.concat([this.#rest, bytes]) : bytes;
    while (rest.length >= 12 && rest.length >= 12 + rest.readUInt32LE(0)) {
      const end = 12 + rest.readUInt32LE(0);
      this.frames.push({
        type: rest.readUInt8(4),
        chan: rest.readUInt8(5),
        stream: rest.readUInt32LE(8),
        payload: Buffer.from(rest.subarray(12, end)),
      });
      rest = rest.subarray(end);
    }
    this.#rest = Buffer.from(rest);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  id(): number {
    this.#nextId += 2;
    return this.#nextId;
  }

  send(type: number, stream: number, payload?: Uint8Array, chan = 0): void {
    this.socket.write(encodeFrame(type, stream, payload, chan));
  }

  async hello(): Promise<void> {
    this.send(T.HELLO, 0, Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.alloc(16, 7)]));
    const hello = await this.take(0, T.HELLO_UP);
    this.configured = hello.payload[2] === 1;
    this.bootNonce = hello.payload.subarray(4, 20);
    await this.take(0, T.READY);
    this.states = this.frames
      .filter((frame) => frame.type === T.STATE)
      .map((frame) => ({ stream: frame.stream, state: parseTlv(frame.payload) }));
    for (const { stream } of this.states) this.#nextId = Math.max(this.#nextId, stream);
    this.#drop((frame) => frame.type === T.STATE);
  }

  #drop(which: (frame: Frame) => boolean): void {
    const kept = this.frames.filter((frame) => !which(frame));
    this.frames.splice(0, this.frames.length, ...kept);
  }

  /** The first frame that fits, taken out of `frames`. Rejects when the link closes or nothing comes. */
  async takeWhere(fits: (frame: Frame) => boolean, what: string): Promise<Frame> {
    const deadline = Date.now() + WAIT_MS;
    for (;;) {
      const at = this.frames.findIndex(fits);
      const [frame] = at < 0 ? [] : this.frames.splice(at, 1);
      if (frame) return frame;
      if (this.closed) throw new Error(`link closed while waiting for ${what}`);
      if (Date.now() > deadline)
        throw new Error(`nothing came: ${what}; have ${JSON.stringify(this.frames.slice(0, 5))}`);
      await Promise.race([new Promise<void>((wake) => this.#waiting.push(wake)), sleep(200)]);
    }
  }

  /** Next frame of that type on that stream. A FAIL in its place is an error. */
  async take(stream: number, type: number): Promise<Frame> {
    const fits = (frame: Frame): boolean => frame.stream === stream && (frame.type === type || frame.type === T.FAIL);
    const frame = await this.takeWhere(fits, `type ${type.toString(16)} on ${stream}`);
    if (frame.type === T.FAIL && type !== T.FAIL) throw failure(frame);
    return frame;
  }

  async takeFail(stream: number): Promise<{ errno: number; stage: number; message: string }> {
    const frame = await this.takeWhere((f) => f.stream === stream && f.type === T.FAIL, `FAIL on ${stream}`);
    return failure(frame);
  }

  /** Waits until the guest closes the connection. */
  async closing(): Promise<void> {
    await until(() => this.closed, 'close');
  }

  async ping(): Promise<void> {
    this.send(T.PING, 0, Buffer.from('12345678'));
    await this.take(0, T.PONG);
  }

  grant(stream: number, chan: number, acked: number, limit: number): void {
    this.send(T.WINDOW, stream, Buffer.concat([u64(acked), u64(limit)]), chan);
  }

  data(stream: number, offset: number, bytes: Uint8Array | string): void {
    this.send(T.DATA, stream, Buffer.concat([u64(offset), Buffer.from(bytes as Uint8Array)]));
  }

  eof(stream: number, final: number): void {
    this.send(T.EOF, stream, u64(final));
  }

  /** Takes data of a channel up to EOF, acknowledging as it goes, and checks that offsets are contiguous. */
  async collect(
    stream: number,
    chan: number,
    options: { from?: number; window?: number; slowMs?: number } = {},
  ): Promise<Buffer> {
    const parts: Buffer[] = [];
    const window = options.window ?? 1 << 20;
    let at = options.from ?? 0;
    for (;;) {
      const fits = (f: Frame): boolean =>
        f.stream === stream && ((f.chan === chan && (f.type === T.DATA || f.type === T.EOF)) || f.type === T.FAIL);
      const frame = await this.takeWhere(fits, `data on ${stream}/${chan} at ${at}`);
      if (frame.type === T.FAIL) throw failure(frame);
      const offset = Number(frame.payload.readBigUInt64LE(0));
      if (offset !== at) throw new Error(`offset ${offset}, expected ${at}`);
      if (frame.type === T.EOF) return Buffer.concat(parts);
      parts.push(frame.payload.subarray(8));
      at += frame.payload.length - 8;
      if (options.slowMs) await sleep(options.slowMs);
      this.grant(stream, chan, at, at + window);
    }
  }

  /** Sends SPAWN and returns the stream id once SPAWNED. */
  async spawn(argv: (string | Uint8Array)[], extra: TlvItem[] = []): Promise<{ id: number; pid: number }> {
    const id = this.id();
    this.send(T.SPAWN, id, tlv([...argv.map((arg): TlvItem => [1, arg]), ...extra]));
    const spawned = await this.take(id, T.SPAWNED);
    return { id, pid: spawned.payload.readUInt32LE(0) };
  }

  async exit(id: number): Promise<{ kind: number; code: number }> {
    const frame = await this.take(id, T.EXITED);
    return { kind: frame.payload.readUInt32LE(0), code: frame.payload.readUInt32LE(4) };
  }

  /** Runs a command to its end and releases it. */
  async run(argv: (string | Uint8Array)[], extra: TlvItem[] = []): Promise<Run> {
    const { id } = await this.spawn(argv, extra);
    await this.take(id, T.OK);
    const [out, err] = await Promise.all([this.collect(id, 1), this.collect(id, 2)]);
    const exit = await this.exit(id);
    this.send(T.RELEASE, id);
    return { ...exit, out, err };
  }

  sh(script: string, extra: TlvItem[] = []): Promise<Run> {
    return this.run(['sh', '-c', script], extra);
  }

  close(): void {
    this.socket.destroy();
  }
}

export type Run = { kind: number; code: number; out: Buffer; err: Buffer };
export type Failure = Error & { errno: number; stage: number };

function failure(frame: Frame): Failure {
  const message = frame.payload.subarray(8).toString();
  return Object.assign(new Error(message), {
    errno: frame.payload.readUInt32LE(0),
    stage: frame.payload.readUInt32LE(4),
  });
}

function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

export function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It was gone already.
  }
}

export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

/** Polls until `ready`; a bounded wait, never a measurement. */
export async function until(ready: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  while (!ready()) {
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
    await sleep(5);
  }
}

export { u32, u64 };
