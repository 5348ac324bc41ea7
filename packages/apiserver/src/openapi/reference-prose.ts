/** Parts of docs/api.md that no schema says. */
export const CONVENTIONS = `## Conventions

- JSON, UTF-8, at most 2 MiB per body (16 MiB for \`/v1/fn\` and \`/run_code\`); unknown fields are refused. Streamed bodies (files, archives) have no limit. Durations and sizes are named with their unit.
- **Keys**: \`Authorization: Bearer viv_…\` or \`X-API-Key: viv_…\`. A key with the scope \`admin\` may do everything.
- **Errors**: \`{ "error": { "code", "message", "hint", "details", "retryable", "fault" } }\`; the table is at the end. \`fault\` says whose doing it was. An \`internal\` error carries \`details.requestId\`, under which the server's log has the rest.
- **Lists** answer \`{ "items", "nextCursor" }\`; pass \`nextCursor\` as \`cursor\` for the next page, null is the end.
- **Idempotency**: creates, forks, packs and execs take \`Idempotency-Key\`. A retry returns the first result; another request with the same key is \`idempotency_mismatch\`. Keys of different API keys don't meet.
- **NDJSON**: one JSON value per line. What goes wrong after the first line is a last line \`{"error": …}\` (imports: \`{"type":"error","error":…}\`). Byte streams that break off break the connection.
- **Paths** inside a sandbox are given as \`path\` or, for names that are not UTF-8, as base64 in \`pathB64\`.
- **Browsers**: any origin may call with a key. On \`/v1/connect\`, where scripts can't set headers, the key may come as a second subprotocol, \`viv-key.KEY\`.
- \`/metrics\` needs a key unless the request comes straight from this machine (a request with \`X-Forwarded-For\` or \`Forwarded\` doesn't).`;

export const STREAMS = `## The connection: \`GET /v1/connect\`

A WebSocket with the subprotocol \`vivarium.v1\`: everything a client does as a stream, for any number of sandboxes, over one connection. Needs the scope \`sandboxes\`.

**Text messages** are JSON control. From the client: \`open {ch, req}\`, \`eof {ch, sub}\`, \`window {ch, sub, limit}\`, \`signal {ch, signal, scope}\`, \`resize {ch, size}\`, \`close {ch}\`, \`ping\`. From the server: \`opened {ch, result}\`, \`event {ch, event}\`, \`eof {ch, sub}\`, \`window {ch, sub, limit}\`, \`closed {ch, error?}\`, \`pong\`.

**Binary messages** are data: \`channel u32 LE, sub u8, 3 zero bytes\`, then 1 … 262,144 bytes. Sub-channels of an exec: 0 stdin, 1 stdout, 2 stderr; of a port: 0 into the sandbox, 1 out of it.

- Channels that the client opens are odd and count up; the server's own (connections of a listener) are even.
- **Credit**: each (channel, sub) may carry 1 MiB from the start of the channel, then up to the \`limit\` of the last \`window\`, an absolute count of the bytes carried by this channel. An \`exec.attach\` counts from 0 again, whatever its offset.
- A request that makes no sense ends its channel with an error. Data beyond the credit, on a channel that never was, or a message that is none of these ends the connection (1008). Data for a channel that has just ended is dropped.
- A channel that ends (\`close\`, or the connection is lost) leaves an exec running, releases a held lease into its grace time, closes a port connection and stops a watch.
- The server asks every 20 s whether the client lives and drops it after 60 s of silence. A client that stops reading makes the program inside wait; nothing is dropped, nothing piles up.
- Limits: 16,384 channels per connection, 128 MiB of input that nobody takes.

| op | fields | answer and events |
|---|---|---|
| \`exec.start\` | sandbox, exec ([ExecStart](#execstart)), stdinStream, idempotencyKey | result [Exec](#exec); data; eof 1 and 2; event \`{type: "exit", exec}\` |
| \`exec.attach\` | sandbox, exec, stdoutOffset, stderrOffset, stdinStream | the same from those offsets; event \`{type: "gap", sub, from, to}\` for what is no longer kept |
| \`file.watch\` | sandbox, path or pathB64, recursive | armed when opened; events WatchEvent |
| \`port.connect\` | sandbox, port or unixPath | data both ways, eof per direction |
| \`port.listen\` | sandbox, port (0: any) or unixPath | events \`{type: "listening", port}\`, \`{type: "connection", conn}\`: that channel is open now |
| \`lease.hold\` | lease | result [Lease](#lease), held while the channel is open |
| \`logs.follow\` | sandbox, after | events [JournalRecord](#journalrecord), first those after \`after\`, then live |
| \`events\` | sandbox or label, or neither | events \`{type: "sandbox", sandbox}\` |
| \`sandbox.create\` | create ([SandboxCreate](#sandboxcreate)), idempotencyKey | result [Sandbox](#sandbox), then closed |

A signal or resize that fails is an event \`{type: "error", error}\`; one for a command that has ended is not.

## Ports of sandboxes

\`ANY /v1/sandboxes/{id}/ports/{port}/…\` reaches an HTTP or WebSocket server inside, also in a sandbox without network; with \`viv up --domain D\` so does \`http://{port}-{id}.D/…\`. Bodies stream both ways.

- Who may: an API key with the scope \`sandboxes\`, or the sandbox's token as \`X-Viv-Token\`, as \`?viv_token=\` (which sets a cookie for that sandbox's addresses, so links of a page work) or as that cookie. None of these, nor an API key, is passed on inside; a program's own \`Authorization\` and cookies are.
- \`Host\` is passed on as it is; \`X-Viv-Host\` replaces it. \`X-Forwarded-For\`, \`-Proto\`, \`-Host\` and, in the path form, \`-Prefix\` are added.
- Nothing listening, or a connection that ends without an answer, is \`port_closed\` (502).
- In the path form all sandboxes share one origin with the API: open pages that you don't trust in the host form.`;
