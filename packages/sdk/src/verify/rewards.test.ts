import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRewardJson, parseRewardText } from './rewards.ts';

const wrong = (text: string) => parseRewardJson(text).rewardError?.split(':')[0];

test('a flat object of numbers is a reward', () => {
  assert.deepEqual(parseRewardJson('{"reward": 0.5, "speed": -2e3}\n').rewards, { reward: 0.5, speed: -2000 });
});

test('whatever numbers are written are the numbers that are read', () => {
  const rewards = fc.dictionary(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), { minKeys: 1 });
  fc.assert(
    fc.property(rewards, (given) => {
      const parsed = parseRewardJson(JSON.stringify(given)).rewards;
      assert.equal(JSON.stringify(parsed), JSON.stringify(given));
    }),
  );
});

test('anything else is an error that says what is wrong, never a zero', () => {
  assert.equal(wrong(''), 'empty');
  assert.equal(wrong('{}'), 'empty');
  for (const text of [
    'nan',
    '{"reward": NaN}',
    '{"reward": Infinity}',
    '{"reward": 1e999}',
    '{"reward": {"a": 1}}',
    '{"reward": [1]}',
    '{"reward": true}',
    '{"reward": null}',
    '{"reward": "1"}',
    '[1]',
    '1',
    'null',
    '{"reward": 1',
    '{"reward": 1} {"reward": 2}',
  ])
    assert.equal(wrong(text), 'invalid', text);
});

test('a key that is given twice is an error, also when it is spelt in two ways', () => {
  assert.equal(wrong('{"reward": 0, "reward": 1}'), 'invalid');
  assert.equal(wrong('{"reward": 0, "rew\\u0061rd": 1}'), 'invalid');
  assert.equal(wrong('{"a\\"b": 0, "a": 1}'), undefined);
});

test('a key called __proto__ is a key', () => {
  const { rewards } = parseRewardJson('{"__proto__": 1}');
  assert.deepEqual(Object.entries(rewards!), [['__proto__', 1]]);
});

test('the text file holds one decimal number', () => {
  for (const [text, reward] of [
    ['1', 1],
    [' 0.25\n', 0.25],
    ['-.5', -0.5],
    ['1e-3', 0.001],
    ['5.', 5],
  ] as const)
    assert.deepEqual(parseRewardText(text).rewards, { reward });
  for (const text of ['nan', 'inf', '-Infinity', '1 2', '0x10', '1_000', 'true', '1e999', '１'])
    assert.equal(parseRewardText(text).rewardError?.split(':')[0], 'invalid', text);
  assert.equal(parseRewardText(' \n').rewardError?.split(':')[0], 'empty');
});
