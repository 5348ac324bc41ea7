/**
 * What the spawner can do. An operation is stateless: everything it needs is in its parameters, so that a new spawner
 * can go on where a killed one stopped. One that yields answers in batches that the caller asks for one by one.
 */
export type Operation = (params: never) => unknown | Promise<unknown> | AsyncIterable<unknown[]>;

export type Operations = Readonly<Record<string, Operation>>;
