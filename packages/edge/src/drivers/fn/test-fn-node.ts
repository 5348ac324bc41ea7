import { openTestNode } from '../container/test-node.ts';
import type { Driver } from '../driver.ts';
import { FnDriver } from './driver.ts';

/** A node whose cells are those of calls. What is swept is the container driver's to tell. */
export async function openFnNode() {
  const node = await openTestNode();
  const over = (containers: Driver): Driver =>
    Object.assign(new FnDriver(containers), { sweep: containers.sweep.bind(containers) });
  return {
    ...node,
    oneCommand: true as const,
    driver: over(node.driver),
    reopen: async () => over(await node.reopen()),
  };
}
