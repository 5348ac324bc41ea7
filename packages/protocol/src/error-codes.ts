/** One row per error code: HTTP status ↔ CLI exit code ↔ whose fault ↔ whether a plain retry can help. */
type Row = {
  status: number;
  exit: number;
  fault: 'user' | 'agent' | 'task' | 'infra';
  retryable: boolean;
  hint: string;
};

const row = (status: number, exit: number, fault: Row['fault'], retryable: boolean, hint: string): Row => ({
  status,
  exit,
  fault,
  retryable,
  hint,
});

/**
 * CLI exit codes: 2 usage, 3 not found, 4 conflict, 5 refused (auth, quota), 6 the node can't now, 7 internal,
 * 64+ are never used, so that a command's own exit code stays recognisable (124 timeout, 125 error of viv itself in run/exec).
 */
export const ERROR_CODES = {
  invalid_argument: row(400, 2, 'user', false, 'Correct the named value and try again.'),
  malformed_json: row(400, 2, 'user', false, 'Send one JSON object, UTF-8.'),
  unknown_field: row(400, 2, 'user', false, 'Remove the named field or check its spelling in the API reference.'),
  limit_too_high: row(400, 2, 'user', false, 'Ask for at most the named maximum.'),
  unauthenticated: row(401, 5, 'user', false, 'Pass an API key: `Authorization: Bearer KEY`, or `viv login URL`.'),
  forbidden: row(403, 5, 'user', false, 'Use a key that has the named scope.'),
  sandbox_not_found: row(404, 3, 'user', false, '`viv ls` shows the sandboxes that exist.'),
  exec_not_found: row(404, 3, 'user', false, 'List the execs of the sandbox; ended ones are kept for a while only.'),
  image_not_found: row(404, 3, 'user', false, '`viv image ls` shows the images; `viv image import` makes one.'),
  volume_not_found: row(404, 3, 'user', false, '`viv volume ls` shows the volumes of this key.'),
  secret_not_found: row(404, 3, 'user', false, 'Check the name or id; secrets belong to the key that made them.'),
  lease_not_found: row(404, 3, 'user', false, 'The lease has ended; create a new one.'),
  job_not_found: row(404, 3, 'user', false, '`viv job ls` shows the jobs that are kept.'),
  trial_not_found: row(404, 3, 'user', false, '`viv job show JOB` lists the trials of a job.'),
  key_not_found: row(404, 3, 'user', false, 'List the keys.'),
  route_not_found: row(404, 3, 'user', false, 'See docs/api.md for the routes.'),
  path_not_found: row(404, 3, 'user', false, 'Check the path inside the sandbox.'),
  path_exists: row(409, 4, 'user', false, 'Remove it first or allow overwriting.'),
  is_directory: row(400, 2, 'user', false, 'Name a file, or use the archive or list call for a directory.'),
  not_directory: row(400, 2, 'user', false, 'Name a directory.'),
  directory_not_empty: row(409, 4, 'user', false, 'Remove it with `recursive`.'),
  not_regular_file: row(400, 2, 'user', false, 'Only regular files can be read and written through the file API.'),
  path_denied: row(403, 5, 'user', false, 'The user named in the request may not do that; use another `user`.'),
  path_escapes: row(
    400,
    2,
    'user',
    false,
    'An entry would land outside the target directory; nothing of it was written.',
  ),
  invalid_archive: row(400, 2, 'user', false, 'Send an uncompressed tar (ustar, pax or GNU).'),
  disk_full: row(
    507,
    6,
    'agent',
    false,
    'The sandbox has used up its disk; free space or create it with a larger `diskMiB`.',
  ),
  file_error: row(500, 7, 'agent', false, 'The operation failed inside the sandbox; details.errno says how.'),
  user_unknown: row(400, 2, 'user', false, 'Name a user that the image has, or a numeric id.'),
  sandbox_dead: row(410, 3, 'user', false, 'The sandbox has ended; create a new one.'),
  sandbox_paused: row(409, 4, 'user', false, 'Resume it first.'),
  sandbox_lost: row(502, 6, 'infra', false, 'The node lost the sandbox; create a new one.'),
  state_conflict: row(409, 4, 'user', false, 'Wait for the transition that is under way, then try again.'),
  exec_not_running: row(409, 4, 'user', false, 'The command has ended.'),
  spawn_failed: row(
    409,
    4,
    'agent',
    true,
    'The sandbox could not start a process; it may be at its pid or memory limit.',
  ),
  port_closed: row(502, 6, 'agent', true, 'Nothing listens on that port inside the sandbox.'),
  idempotency_mismatch: row(422, 4, 'user', false, 'Use a new idempotency key for a different request.'),
  image_exists: row(409, 4, 'user', false, 'Versions never change: pick a new version.'),
  image_in_use: row(409, 4, 'user', false, 'End the sandboxes that use it first.'),
  volume_exists: row(409, 4, 'user', false, 'Pick another name, or use the volume that has it.'),
  secret_exists: row(409, 4, 'user', false, 'Update it, or take another name.'),
  volume_in_use: row(
    409,
    4,
    'user',
    false,
    'End the sandboxes that have it mounted first; details.sandboxes names them.',
  ),
  invalid_image: row(400, 2, 'user', false, 'The source could not be turned into an image; nothing was kept.'),
  image_corrupt: row(500, 6, 'infra', false, 'The named layer fails its digest; import the image again.'),
  dockerfile_invalid: row(400, 2, 'task', false, 'Correct the named line of the Dockerfile.'),
  build_failed: row(
    422,
    6,
    'task',
    false,
    'See details.output for the end of what the step said; nothing of the build was kept but the steps before it.',
  ),
  import_failed: row(502, 6, 'infra', true, 'See details.output for what the tool said; nothing was kept.'),
  unsupported: row(501, 6, 'user', false, '`viv doctor` says what this machine can do and why not.'),
  quota_exceeded: row(429, 5, 'user', true, 'End something first or ask for a higher quota.'),
  node_full: row(503, 6, 'infra', true, 'The node has no room left; end sandboxes or add disk or memory.'),
  node_disk_full: row(503, 6, 'infra', true, 'Free disk space on the node (state directory).'),
  too_many_requests: row(429, 6, 'infra', true, 'Wait a little and try again.'),
  payload_too_large: row(413, 2, 'user', false, 'Use the streaming file call for large data.'),
  shutting_down: row(503, 6, 'infra', true, 'The node is stopping; try again when it is up.'),
  request_timeout: row(504, 6, 'infra', true, 'The wait ended; the operation may still go on.'),
  connection_lost: row(503, 6, 'infra', true, 'The connection to the server broke; re-attach.'),
  server_unreachable: row(
    503,
    6,
    'infra',
    true,
    'Is the node up? `viv up --detach` starts one; `viv login URL` selects another.',
  ),
  output_limit: row(200, 6, 'agent', false, 'The command wrote more than its output limit.'),
  command_failed: row(
    200,
    6,
    'agent',
    false,
    'The command ran and did not end with 0; details hold how, and the end of its stderr.',
  ),
  reach_denied: row(403, 5, 'agent', false, 'Only endpoints named at creation can be reached.'),
  reach_unavailable: row(502, 6, 'infra', true, 'The named endpoint on the host side did not answer.'),
  task_invalid: row(400, 2, 'task', false, 'Correct the named file and field; docs/tasks.md describes the format.'),
  task_refused: row(
    501,
    6,
    'task',
    false,
    'The task needs something that is not offered here; docs/tasks.md says what is.',
  ),
  job_exists: row(409, 4, 'user', false, '`viv job resume` goes on with it; --job-name starts another.'),
  job_running: row(409, 4, 'user', true, 'Wait for it, or end that process.'),
  precondition_failed: row(412, 6, 'user', false, 'The message says what this machine lacks.'),
  internal: row(500, 7, 'infra', false, 'This is a bug or a broken node; see the server log.'),
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERROR_CODES;
