/** What is collected from the agent's sandbox when it has ended. `source` is a path inside. */
export type Artifact = {
  source: string;
  /** Relative to the trial's artifacts/ directory; null: the source's own name. */
  destination: string | null;
  /** Globs below the source that stay out. */
  exclude: string[];
};

/** As Docker's HEALTHCHECK: failures within `startPeriodMs` don't count. */
export type Healthcheck = {
  command: string;
  intervalMs: number;
  timeoutMs: number;
  startPeriodMs: number;
  startIntervalMs: number;
  retries: number;
};

/** A command that stays in the foreground as long as the sandbox lives, run by bash. `user` null: the image's. */
export type Service = { name: string; command: string; user: string | null };

export type McpServer = {
  name: string;
  transport: 'stdio' | 'sse' | 'streamable-http';
  url: string | null;
  command: string | null;
  args: string[];
};

/** Sandboxes have no network: `public` is accepted (with a warning) and gives none; `allowlist` is refused when it names hosts. */
export type NetworkMode = 'public' | 'no-network' | 'allowlist';
