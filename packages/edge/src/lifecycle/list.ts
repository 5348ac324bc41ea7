import { decodeCursor, isLive, pageOf } from '@vivarium/core';
import { type Sandbox, VivError } from '@vivarium/protocol';
import type { PageOf, PageRequest, SandboxFilter } from '../edge.ts';
import { type SandboxRow, toSandbox } from '../registry/sandbox-row.ts';
import { matches } from '../registry/sandbox-table.ts';
import type { EdgeContext } from './context.ts';

type Order = NonNullable<SandboxFilter['order']>;

/** Marks the cursors of lists whose oldest comes first. */
const ASCENDING = 'asc:';

/** A page of the sandboxes that match. Throws `invalid_argument` for a cursor of another order. */
export function listSandboxes(context: EdgeContext, filter: SandboxFilter, page: PageRequest): PageOf<Sandbox> {
  const { order = 'desc', states } = filter;
  const after = page.cursor === undefined ? undefined : idIn(order, decodeCursor(page.cursor));
  const onlyLive = states !== undefined && states.length > 0 && states.every(isLive);
  const rows = onlyLive
    ? liveRows(context, filter, after, page.limit + 1)
    : context.registry.sandboxes.list(filter, after, page.limit + 1);
  return pageOf(
    rows.map((row) => toSandbox(row)),
    page.limit,
    ({ id }) => (order === 'asc' ? `${ASCENDING}${id}` : id),
  );
}

/** From memory: thousands of rows would have to be read from the database to find a few. */
function liveRows({ boxes }: EdgeContext, filter: SandboxFilter, after: string | undefined, limit: number) {
  const ids = [...boxes.keys()].sort();
  if (filter.order !== 'asc') ids.reverse();
  const found: SandboxRow[] = [];
  for (const id of ids) {
    if (after !== undefined && (filter.order === 'asc' ? id <= after : id >= after)) continue;
    const { row } = boxes.get(id)!;
    if (matches(row, filter)) found.push(row);
    if (found.length === limit) break;
  }
  return found;
}

function idIn(order: Order, key: string): string {
  if (key.startsWith(ASCENDING) === (order === 'asc')) return order === 'asc' ? key.slice(ASCENDING.length) : key;
  throw new VivError('invalid_argument', `the cursor is of a list in the other order than "${order}"`, {
    details: { field: 'cursor' },
  });
}
