import { VivError } from '@vivarium/protocol';
import { type Answer, createLineReader, type Request, toLine } from './line-codec.ts';
import type { Operations } from './operation.ts';

/** Serves operations over a pair of streams until the input ends. */
export function serveOperations(
  operations: Operations,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): void {
  const streams = new Map<number, AsyncIterator<unknown[]>>();
  const answer = (message: Answer): void => {
    output.write(toLine(message));
  };
  const fail = (to: number, error: unknown): void => answer({ to, error: VivError.from(error).toBody() });

  const start = async (to: number, op: string, params: unknown): Promise<void> => {
    const operation = operations[op];
    if (!operation) throw new VivError('internal', `the spawner has no operation ${op}`);
    const result = operation(params as never);
    if (!isBatches(result)) return answer({ to, done: (await result) ?? null });
    streams.set(to, result[Symbol.asyncIterator]());
    await next(to);
  };
  const next = async (to: number): Promise<void> => {
    const batch = await streams.get(to)?.next();
    if (!streams.has(to) || !batch) return;
    if (!batch.done) return answer({ to, batch: batch.value });
    streams.delete(to);
    answer({ to, done: null });
  };
  const cancel = async (to: number): Promise<void> => {
    const iterator = streams.get(to);
    streams.delete(to);
    await iterator?.return?.();
  };
  const handle = (request: Request): void => {
    if ('call' in request) start(request.call, request.op, request.params).catch((error) => fail(request.call, error));
    else if ('next' in request) next(request.next).catch((error) => fail(request.next, error));
    else cancel(request.cancel).catch(() => undefined);
  };

  input.setEncoding('utf8');
  input.on('data', createLineReader<Request>(handle));
}

function isBatches(result: unknown): result is AsyncIterable<unknown[]> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
}
