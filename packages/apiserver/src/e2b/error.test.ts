import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { ERROR_CODES, type ErrorCode } from '@vivarium/protocol/error-codes.ts';
import { e2bStatus, rpcFailure } from './error.ts';

const codes = Object.keys(ERROR_CODES) as ErrorCode[];

test('every error of ours has a status and an RPC code that tell of a failure', () => {
  for (const code of codes) {
    const error = new VivError(code, code);
    assert.ok(e2bStatus(error) >= 400 && e2bStatus(error) < 600, code);
    const rpc = rpcFailure(error);
    assert.ok(rpc.status >= 400 && rpc.status < 600, code);
    assert.match(rpc.code, /^[a-z_]+$/);
    assert.equal(rpc.message, code);
  }
});

test('clients get the statuses by which they choose their error classes', () => {
  const statuses: Partial<Record<ErrorCode, number>> = {
    unauthenticated: 401,
    sandbox_not_found: 404,
    sandbox_dead: 404,
    image_not_found: 404,
    sandbox_paused: 409,
    state_conflict: 409,
    invalid_argument: 400,
    limit_too_high: 400,
    quota_exceeded: 429,
    too_many_requests: 429,
    node_full: 503,
    node_disk_full: 503,
    shutting_down: 503,
    disk_full: 507,
  };
  for (const [code, status] of Object.entries(statuses))
    assert.equal(e2bStatus(new VivError(code as ErrorCode, '')), status, code);
});

test('RPC clients get the codes by which they choose theirs', () => {
  const expected = {
    path_not_found: 'not_found',
    path_exists: 'already_exists',
    invalid_argument: 'invalid_argument',
    unauthenticated: 'unauthenticated',
    sandbox_dead: 'unavailable',
    internal: 'internal',
    node_full: 'unavailable',
    unsupported: 'unimplemented',
  } as const;
  for (const [code, rpc] of Object.entries(expected))
    assert.equal(rpcFailure(new VivError(code as ErrorCode, '')).code, rpc, code);
});
