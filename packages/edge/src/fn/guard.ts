import { VivError } from '@vivarium/protocol';
import type { EdgeContext } from '../lifecycle/context.ts';

/**
 * A service whose methods take a sandbox's id first, without those that would change or keep what a container for calls holds: only
 * calls may. What is allowed looks at it, or ends it.
 */
export function withoutCalls<T extends object>(context: EdgeContext, service: T, allowed: readonly (keyof T)[]): T {
  return new Proxy(service, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => unknown;
      if (allowed.includes(name as keyof T)) return method;
      return (...args: unknown[]) => {
        const [id] = args;
        if (typeof id === 'string' && context.boxes.get(id)?.row.kind === 'fn') throw refusal(id, String(name));
        return method(...args);
      };
    },
  });
}

function refusal(id: string, what: string): VivError {
  return new VivError('unsupported', `sandbox ${id} is of kind fn, which answers calls only (${what})`, {
    hint: 'A call is made with POST /v1/fn; a session keeps its state between calls. For a computer use kind container.',
    details: { kind: 'fn', operation: what },
  });
}
