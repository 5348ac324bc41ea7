import { VivError } from '@vivarium/protocol';

/** Fixed segments, at most one parameter, and what is at this path by method. */
type Node<Id> = { fixed: Map<string, Node<Id>>; parameter?: { name: string; node: Node<Id> }; routes: Map<string, Id> };
export type Match<Id> = { id: Id; params: Record<string, string> } | { id: undefined; allowed: string[] };

/** Finds the operation of a method and path. Fixed segments win over parameters; parameters come as they are written (not decoded). */
export class Router<Id extends string> {
  readonly #root = emptyNode<Id>();

  constructor(table: Record<Id, { method: string; path: string }>) {
    for (const [id, route] of Object.entries<{ method: string; path: string }>(table)) this.#add(id as Id, route);
  }

  /** `allowed`: the methods the path has, when it hasn't this one; empty when nothing has this path. */
  match(method: string, path: string): Match<Id> {
    const params: Record<string, string> = {};
    let node = this.#root;
    for (const segment of path.split('/')) {
      const fixed = node.fixed.get(segment);
      if (fixed) {
        node = fixed;
      } else if (node.parameter && segment !== '') {
        params[node.parameter.name] = segment;
        node = node.parameter.node;
      } else {
        return { id: undefined, allowed: [] };
      }
    }
    const id = node.routes.get(method);
    return id ? { id, params } : { id: undefined, allowed: [...node.routes.keys()] };
  }

  #add(id: Id, route: { method: string; path: string }): void {
    let node = this.#root;
    for (const segment of route.path.split('/')) {
      const name = /^\{(.+)\}$/.exec(segment)?.[1];
      if (name === undefined) {
        const next = node.fixed.get(segment) ?? emptyNode<Id>();
        node.fixed.set(segment, next);
        node = next;
      } else {
        node.parameter ??= { name, node: emptyNode<Id>() };
        if (node.parameter.name !== name)
          throw new Error(`${route.path}: this segment is called ${node.parameter.name} elsewhere`);
        node = node.parameter.node;
      }
    }
    if (node.routes.has(route.method)) throw new Error(`${route.method} ${route.path} is there twice`);
    node.routes.set(route.method, id);
  }
}

function emptyNode<Id>(): Node<Id> {
  return { fixed: new Map(), routes: new Map() };
}

/** What a request is answered with that matches nothing; `allowed` as in Match. */
export function noRoute({ method }: { method?: string | undefined }, path: string, allowed: string[]): VivError {
  const shown = path.slice(0, 200);
  const message =
    allowed.length > 0 ? `${shown} has no ${method}; it has ${allowed.join(', ')}` : `nothing is at ${method} ${shown}`;
  return new VivError('route_not_found', message, { details: { allowed } });
}
