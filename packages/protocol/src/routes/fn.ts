import { z } from '@hono/zod-openapi';
import { FN_BODY_BYTES_MAX, FnLanguage, FnPool, FnRequest, FnResult, FnSession, FnWarm } from '../fn.ts';
import { ImageName } from '../id.ts';
import { RunCodeRequest, RunCodeResponse } from '../run-code.ts';
import { routes } from './route.ts';

const scope = ['sandboxes'] as const;
const tag = 'fn';
const refused = ['image_not_found', 'unsupported', 'language_unavailable'] as const;
const full = ['node_full', 'node_disk_full', 'quota_exceeded', 'too_many_requests', 'shutting_down'] as const;
const inside = [
  'spawn_failed',
  'user_unknown',
  'path_not_found',
  'not_directory',
  'is_directory',
  'path_denied',
  'disk_full',
  'file_error',
  'sandbox_lost',
] as const;

export const FN_ROUTES = routes({
  'fn.run': {
    method: 'POST',
    path: '/v1/fn',
    tag,
    scope,
    summary: 'Run a piece of code or a program in a clean container',
    description:
      'Answers when it has ended. Each call has a container that nothing ran in before, unless it names a session. A body has at most 16 MiB. docs/fn.md says what is clean.',
    body: FnRequest,
    maxBodyBytes: FN_BODY_BYTES_MAX,
    idempotent: true,
    status: 200,
    result: FnResult,
    errors: [...refused, ...full, ...inside, 'state_conflict', 'sandbox_dead', 'idempotency_mismatch'],
  },
  'fn.warm': {
    method: 'POST',
    path: '/v1/fn/warm',
    tag,
    scope,
    summary: 'Keep containers of an image ready',
    description: 'Answers when they are, or when the node has no room for more.',
    body: FnWarm,
    status: 200,
    result: FnPool,
    errors: ['image_not_found', 'unsupported', ...full],
  },
  'fn.pools': {
    method: 'GET',
    path: '/v1/fn/pools',
    tag,
    scope,
    summary: 'Containers that are ready or at work',
    description: 'Those of this key; with the scope `admin`, of all.',
    status: 200,
    result: z.object({ items: z.array(FnPool) }),
    errors: [],
  },
  'fn.languages': {
    method: 'GET',
    path: '/v1/fn/languages',
    tag,
    scope,
    summary: 'Languages of an image',
    query: z.object({ image: ImageName }),
    status: 200,
    result: z.object({ items: z.array(FnLanguage) }),
    errors: ['image_not_found', 'unsupported', ...full],
  },
  'fn.sessions': {
    method: 'GET',
    path: '/v1/fn/sessions',
    tag,
    scope,
    summary: 'Sessions',
    status: 200,
    result: z.object({ items: z.array(FnSession) }),
    errors: [],
  },
  'fn.endSession': {
    method: 'DELETE',
    path: '/v1/fn/sessions/{session}',
    tag,
    scope,
    summary: 'End a session and its container',
    status: 204,
    errors: ['session_not_found'],
  },
  'fn.runCode': {
    method: 'POST',
    path: '/run_code',
    tag,
    scope,
    summary: 'The same for clients of other code runners',
    description:
      'The common shape of `/run_code`. Errors of the node are answered with 200 and `SandboxError`; a key that is missing, a request that makes no sense and a language that the image has not are errors as everywhere.',
    body: RunCodeRequest,
    maxBodyBytes: FN_BODY_BYTES_MAX,
    idempotent: true,
    status: 200,
    result: RunCodeResponse,
    errors: ['image_not_found', 'unsupported', 'language_unavailable', 'idempotency_mismatch'],
  },
});
