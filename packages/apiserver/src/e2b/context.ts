import type { Edge } from '@vivarium/edge/edge.ts';
import type { Logger } from 'pino';
import type { KeyStore } from '../auth/key-store.ts';
import type { E2bStore } from './store.ts';

/** What the parts of the E2B surface share. `edge` is unrestricted: the parts narrow it by the caller's key or sandbox token. */
export type E2bContext = {
  readonly edge: Edge;
  readonly keys: KeyStore;
  /** What only E2B clients speak of: the template as it was asked for, network settings, template builds. */
  readonly store: E2bStore;
  /** Where uploads wait for their build. */
  readonly directory: string;
  /** `<port>-<id>.<domain>` reaches a sandbox. */
  readonly domain: string | undefined;
  readonly log: Logger;
};
