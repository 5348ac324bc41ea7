import type { TestNode } from './node.ts';

export type Answer = { status: number; body: Record<string, unknown>; error: ErrorFields; text: string };
export type ErrorFields = {
  code: string;
  message: string;
  hint: string;
  details: Record<string, unknown>;
  fault: string;
};

/** One HTTP call with the node's key, as any client in any language would make it. A string body goes as it is. */
export async function call(
  node: TestNode,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${node.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${node.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed = parse(text);
  return { status: response.status, body: parsed, error: (parsed.error ?? {}) as ErrorFields, text } satisfies Answer;
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
