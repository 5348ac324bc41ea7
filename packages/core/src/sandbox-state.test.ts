import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SandboxState } from '@vivarium/protocol';
import fc from 'fast-check';
import { canStep, checkStep, isFinal, isLive, TRANSITIONS } from './sandbox-state.ts';

const states = SandboxState.options;

test('every live state can be ended or can fail', () => {
  for (const state of states.filter(isLive)) {
    assert.ok(state === 'ending' ? canStep(state, 'ended') : canStep(state, 'ending'), state);
  }
});

test('final states lead nowhere', () => {
  assert.deepEqual(states.filter(isFinal), ['ended', 'failed']);
  for (const from of states.filter(isFinal))
    for (const to of states) assert.throws(() => checkStep('x', from, to), { code: 'sandbox_dead' });
});

test('a step outside the table is a state conflict that names both states', () => {
  assert.throws(() => checkStep('x', 'running', 'resuming'), { code: 'state_conflict', message: /running.*resuming/ });
});

test('no walk through the table leaves a final state, and from everywhere an end can be reached', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 40 }), (choices) => {
      let state: SandboxState = 'creating';
      for (const choice of choices) {
        const next: readonly SandboxState[] = TRANSITIONS[state];
        if (next.length === 0) break;
        state = next[choice % next.length]!;
      }
      if (isFinal(state)) return;
      assert.ok(state === 'ending' || canStep(state, 'ending'));
    }),
  );
});
