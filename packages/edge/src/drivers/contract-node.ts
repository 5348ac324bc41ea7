import type { Driver, LayerMount } from './driver.ts';

/** A driver on a node of its own, whose image has a POSIX shell with the usual tools. */
export type DriverUnderTest = {
  driver: Driver;
  layers: LayerMount[];
  /** Can this machine's kernel hold cells to these? If not, the tests that need it are left out. */
  enforces: { memory: boolean; pids: boolean };
  /** Its cells run one command at a time. */
  oneCommand?: true;
  /** A new driver over the same state, as after a restart of the edge; the former one is not used any more. */
  reopen(): Promise<Driver>;
  close(): Promise<void>;
};
