import { z } from '@hono/zod-openapi';
import { Exec, ExecResult, ExecStart, SignalRequest, WinSize } from '../exec.ts';
import { PageQuery, page } from '../id.ts';
import { routes } from './route.ts';
import { waitMs } from './sandboxes.ts';

const scope = ['sandboxes'] as const;
const tag = 'execs';
const all = '/v1/sandboxes/{id}/execs';
const one = `${all}/{execId}` as const;

export const ExecResultQuery = z.object({ waitMs: waitMs.default(0) });

export const EXEC_ROUTES = routes({
  'exec.run': {
    method: 'POST',
    path: all,
    tag,
    scope,
    summary: 'Run a command',
    description:
      'Answers when it has ended, with the output that was kept; with `detach` once it runs. A client that goes away leaves it running. Streams: `exec.start` on the connection.',
    body: ExecStart,
    idempotent: true,
    status: 200,
    result: ExecResult,
    also: [{ status: 202, result: Exec, description: 'with `detach`: it runs' }],
    errors: [
      'sandbox_not_found',
      'sandbox_dead',
      'sandbox_paused',
      'sandbox_lost',
      'spawn_failed',
      'user_unknown',
      'idempotency_mismatch',
      'too_many_requests',
    ],
  },
  'exec.list': {
    method: 'GET',
    path: all,
    tag,
    scope,
    summary: 'Commands of a sandbox',
    query: PageQuery,
    status: 200,
    result: page(Exec),
    errors: ['sandbox_not_found'],
  },
  'exec.get': {
    method: 'GET',
    path: one,
    tag,
    scope,
    summary: 'Inspect a command',
    status: 200,
    result: Exec,
    errors: ['sandbox_not_found', 'exec_not_found'],
  },
  'exec.result': {
    method: 'GET',
    path: `${one}/result`,
    tag,
    scope,
    summary: 'Its result',
    description: 'Waits up to `waitMs` for the end; then answers with what there is.',
    query: ExecResultQuery,
    status: 200,
    result: ExecResult,
    errors: ['sandbox_not_found', 'exec_not_found'],
  },
  'exec.signal': {
    method: 'POST',
    path: `${one}/signal`,
    tag,
    scope,
    summary: 'Send a signal',
    body: SignalRequest,
    status: 204,
    errors: ['sandbox_not_found', 'exec_not_found', 'exec_not_running'],
  },
  'exec.resize': {
    method: 'POST',
    path: `${one}/resize`,
    tag,
    scope,
    summary: 'Resize its terminal',
    body: WinSize,
    status: 204,
    errors: ['sandbox_not_found', 'exec_not_found', 'exec_not_running'],
  },
  'exec.cancel': {
    method: 'DELETE',
    path: one,
    tag,
    scope,
    summary: 'End a command and all it started',
    status: 204,
    errors: ['sandbox_not_found', 'exec_not_found'],
  },
});
