/**
 * `GET /v1/connect`, WebSocket subprotocol `vivarium.v1`: everything a client does as a stream, for any number of
 * sandboxes, over one connection. Text messages are JSON control, binary messages are data with an 8-byte header:
 * `channel u32 LE, sub u8, 3 zero bytes`, then 1 … 262,144 bytes. Credit is per (channel, sub): a limit
 * on the bytes that this channel has carried since it was opened (also for an attach at an offset), first 1 MiB.
 * A binary message that would pass the limit, or names an unknown channel, ends the connection (1008).
 */
import { z } from '@hono/zod-openapi';
import { ExecStart, WinSize } from './exec.ts';
import { Id } from './id.ts';
import { SandboxCreate } from './sandbox.ts';

export {
  MUX_CHANNELS_MAX,
  MUX_DATA_MAX_BYTES,
  MUX_HEADER_BYTES,
  MUX_INITIAL_LIMIT_BYTES,
  MUX_PROTOCOL,
  Sub,
} from './mux-frame.ts';

const ch = z.number().int().min(1).max(0xffff_ffff);
const path = { path: z.string().optional(), pathB64: z.string().optional() };

/** What a channel can be opened for. `opened` answers with `result`; later news are `event`s; `closed` ends it. */
export const MuxOp = z.discriminatedUnion('op', [
  /** result Exec (state running or ended); events {type:'exit', exec: Exec} when it ended and all output was sent. stdinStream: data on sub 0, else EOF at once. */
  z.strictObject({
    op: z.literal('exec.start'),
    sandbox: Id,
    exec: ExecStart,
    stdinStream: z.boolean().default(false),
    idempotencyKey: z.string().max(200).optional(),
  }),
  /** Re-attach: output from the given absolute offsets; what is no longer kept is skipped and said in an event {type:'gap', sub, from, to}. */
  z.strictObject({
    op: z.literal('exec.attach'),
    sandbox: Id,
    exec: Id,
    stdoutOffset: z.number().int().min(0).default(0),
    stderrOffset: z.number().int().min(0).default(0),
    stdinStream: z.boolean().default(false),
  }),
  /** events: WatchEvent. */
  z.strictObject({ op: z.literal('file.watch'), sandbox: Id, ...path, recursive: z.boolean().default(false) }),
  /** Raw TCP to a port inside (host: 127.0.0.1 there), or to a unix socket. */
  z.strictObject({
    op: z.literal('port.connect'),
    sandbox: Id,
    port: z.number().int().min(1).max(65_535).optional(),
    unixPath: z.string().max(107).optional(),
  }),
  /** A listener inside whose connections come out: event {type:'listening', port}, {type:'connection', conn: ch}: the server opened that channel (even ids are the server's). */
  z.strictObject({
    op: z.literal('port.listen'),
    sandbox: Id,
    port: z.number().int().min(0).max(65_535).optional(),
    unixPath: z.string().max(107).optional(),
  }),
  /** Holds a lease while the channel is open; grace starts when it closes. result Lease. */
  z.strictObject({ op: z.literal('lease.hold'), lease: Id }),
  /** Journal records as events, first those after `after`, then live. */
  z.strictObject({ op: z.literal('logs.follow'), sandbox: Id, after: z.number().int().min(-1).default(-1) }),
  /** Lifecycle as events {type:'sandbox', sandbox}: one sandbox, those of a label, or all. */
  z.strictObject({ op: z.literal('events'), sandbox: Id.optional(), label: z.string().optional() }),
  /** Create without a second connection. result Sandbox. */
  z.strictObject({
    op: z.literal('sandbox.create'),
    create: SandboxCreate,
    idempotencyKey: z.string().max(200).optional(),
  }),
]);
export type MuxOp = z.infer<typeof MuxOp>;
export type MuxOpInput = z.input<typeof MuxOp>;

export const ClientMessage = z.discriminatedUnion('t', [
  z.strictObject({ t: z.literal('open'), ch, req: MuxOp }),
  z.strictObject({ t: z.literal('eof'), ch, sub: z.number().int().min(0).max(2) }),
  z.strictObject({ t: z.literal('window'), ch, sub: z.number().int().min(0).max(2), limit: z.number().int().min(0) }),
  z.strictObject({
    t: z.literal('signal'),
    ch,
    signal: z.union([z.number(), z.string()]),
    scope: z.enum(['process', 'group', 'tree']).default('process'),
  }),
  z.strictObject({ t: z.literal('resize'), ch, size: WinSize }),
  /** Ends the channel only: an exec runs on (detached). */
  z.strictObject({ t: z.literal('close'), ch }),
  z.strictObject({ t: z.literal('ping') }),
]);
export type ClientMessage = z.infer<typeof ClientMessage>;

export type ServerMessage =
  | { t: 'opened'; ch: number; result: unknown }
  | { t: 'event'; ch: number; event: Record<string, unknown> & { type?: string } }
  | { t: 'eof'; ch: number; sub: number }
  | { t: 'window'; ch: number; sub: number; limit: number }
  | { t: 'closed'; ch: number; error?: unknown }
  | { t: 'pong' };
