import type { EnvironmentConfig, PhaseConfig, TaskConfig, VerifierConfig } from './config.ts';
import type { Artifact, Healthcheck } from './config-parts.ts';

/**
 * A task directory that was read and found sound: nothing below reads task.toml again. Paths are absolute, times are in
 * milliseconds, sizes in MiB. Made by `loadTask`.
 */
export type Task = {
  /** `[task].name`, else the folder's name. */
  id: string;
  /** The task directory, symbolic links resolved. */
  dir: string;
  /** SHA-256 (hex) over the sorted paths, modes and contents of the directory; times don't count. */
  checksum: string;
  /** Without canary lines, with LF. Empty when the task has steps (each has its own). */
  instruction: string;
  config: TaskConfig;
  environment: TaskEnvironment;
  /** Where the tests run: null is a fresh sandbox of the agent's image (mode `shared`). */
  separate: TaskEnvironment | null;
  /** `tests/`, or null. The verifier's files; test.sh in it unless the task has steps or a separate verifier. */
  tests: string | null;
  /** `solution/` with solve.sh, or null: no oracle for this task. */
  solution: string | null;
  /** Empty: one step, described by the task itself. */
  steps: TaskStep[];
  warnings: TaskWarning[];
};

/** Where an image comes from. */
export type TaskEnvironment =
  | { kind: 'dockerfile'; context: string; dockerfile: string; config: EnvironmentConfig }
  | {
      kind: 'image';
      /** As in task.toml: an image name of ours or an OCI reference. */
      ref: string;
      /** The Dockerfile's directory, for a forced build. */
      context: string | null;
      /** A directory whose files go to the workdir when the sandbox starts (there is no Dockerfile that copies them). */
      upload: string | null;
      config: EnvironmentConfig;
    };

/** One step of a multi-step task; settings it leaves out are the task's. */
export type TaskStep = {
  name: string;
  dir: string;
  instruction: string;
  agent: PhaseConfig;
  verifier: VerifierConfig;
  separate: TaskEnvironment | null;
  /** Below this the trial stops here; a number is for the key `reward`. */
  minReward: Record<string, number> | null;
  /** The step's own; null: none for this step (the task's runs once, at the start). */
  healthcheck: Healthcheck | null;
  artifacts: Artifact[];
  /** The step's files, laid over the task's `tests/`. */
  tests: string | null;
  solution: string | null;
  /** Uploaded to the workdir before the step. */
  workdir: string | null;
  /** Path of `workdir/setup.sh`, run in the workdir after the upload. */
  setup: string | null;
};

/** Something that a reader of the task should know and that does not stop it. */
export type TaskWarning = { file: string; field: string | null; message: string };
