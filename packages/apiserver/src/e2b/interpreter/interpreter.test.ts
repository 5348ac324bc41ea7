import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { Edge } from '@vivarium/edge/edge.ts';
import { type ExecStart, VivError } from '@vivarium/protocol';
import { INTERPRETER_PORT, interpretersOf } from './interpreter.ts';

/** A node whose sandboxes have an interpreter or not; its port is open after some refusals. */
function node({ installed = true, refusals = 2 } = {}) {
  const commands: ExecStart[] = [];
  const open: PassThrough[] = [];
  const edge = {
    files: {
      stat: async () => {
        if (!installed) throw new VivError('path_not_found', 'no such file');
        return {};
      },
    },
    execs: { run: async (_sandbox: string, start: ExecStart) => void commands.push(start) },
    ports: {
      connect: async (_sandbox: string, { port }: { port: number }) => {
        assert.equal(port, INTERPRETER_PORT);
        refusals -= 1;
        if (refusals >= 0 || commands.length === 0) throw new VivError('port_closed', 'nothing listens');
        open.push(new PassThrough());
        return open.at(-1);
      },
    },
  };
  return { edge: edge as unknown as Edge, commands, open };
}

test('an interpreter is started once for all that wait, as user, and they wait until it listens', async () => {
  const { edge, commands, open } = node();
  const interpreters = interpretersOf(edge);
  assert.equal(interpretersOf(edge), interpreters);
  assert.deepEqual(await Promise.all([interpreters.start('a'), interpreters.start('a')]), [true, true]);
  assert.deepEqual(
    commands.map(({ user, detach, argv }) => [user, detach, argv?.at(-1)]),
    [['user', true, '/opt/interpreter/launcher.py']],
  );
  assert.deepEqual(
    open.map((connection) => connection.destroyed),
    [true],
  );
});

test('one that has ended is started again; a sandbox without one is left as it is', async () => {
  const { edge, commands } = node();
  await interpretersOf(edge).start('a');
  await interpretersOf(edge).start('a');
  assert.equal(commands.length, 2);
  const without = node({ installed: false });
  assert.equal(await interpretersOf(without.edge).start('a'), false);
  assert.equal(without.commands.length, 0);
});
