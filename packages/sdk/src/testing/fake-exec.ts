import type { Exec } from '@vivarium/protocol/exec.ts';
import type { Sandbox } from '@vivarium/protocol/sandbox.ts';

export const SANDBOX_ID = 'aaaaaaaaaaaaaaaaaaaa';
export const EXEC_ID = 'eeeeeeeeeeeeeeeeeeee';
const NOW = '2026-01-01T00:00:00.000Z';
const NOTHING = { bytes: 0, keptBytes: 0, truncated: false, sha256: null };

/** A running exec as the server would show it. */
export function fakeExec(change: Partial<Exec> = {}): Exec {
  return {
    id: EXEC_ID,
    sandbox: SANDBOX_ID,
    seq: 1,
    argv: ['/bin/sh', '-c', 'test'],
    user: null,
    cwd: null,
    pty: false,
    label: null,
    state: 'running',
    pid: 7,
    startedAt: NOW,
    endedAt: null,
    durationMs: null,
    outcome: null,
    exitCode: null,
    message: null,
    annotations: [],
    stdout: NOTHING,
    stderr: NOTHING,
    cpuMs: null,
    maxRssKiB: null,
    ...change,
  };
}

/** The same, ended with a code. */
export function endedExec(code: number, change: Partial<Exec> = {}): Exec {
  return fakeExec({
    state: 'ended',
    endedAt: NOW,
    durationMs: 5,
    outcome: { type: 'exited', code },
    exitCode: code,
    ...change,
  });
}

export function fakeSandbox(change: Partial<Sandbox> = {}): Sandbox {
  return {
    id: SANDBOX_ID,
    name: null,
    kind: 'container',
    image: 'base/debian@12',
    state: 'running',
    endReason: null,
    error: null,
    labels: {},
    metadata: {},
    limits: { cpuWeight: 100, cpus: 2, memoryMiB: 1024, pids: 512, diskMiB: 4096, nofile: 4096, ptys: 32 },
    createdAt: NOW,
    startedAt: NOW,
    endedAt: null,
    expiresAt: null,
    idleTimeoutS: null,
    onTimeout: 'kill',
    pauseMemory: true,
    autoResume: false,
    cold: false,
    lease: null,
    reach: [],
    overlay: [],
    volumes: [],
    network: 'none',
    token: 'tok',
    ...change,
  };
}
