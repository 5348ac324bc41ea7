import type { Entry } from '@vivarium/protocol/files.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { toText } from '../bytes.ts';
import type { Files } from '../files.ts';
import { AS_ROOT } from './as-root.ts';

export const REWARD_JSON = '/logs/verifier/reward.json';
export const REWARD_TEXT = '/logs/verifier/reward.txt';
const JSON_BYTES_MAX = 65_536;
const TEXT_BYTES_MAX = 4096;
const KEYS_MAX = 256;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export type Rewards = { rewards: Record<string, number>; rewardError: null } | { rewards: null; rewardError: string };

/**
 * Reads what a grader left: the JSON file, else the text file. Only a regular file of bounded size is read. Anything else is an error,
 * never a zero. Throws what the sandbox throws when it can't be asked.
 */
export async function readRewards(files: Files, paths: { json?: string; text?: string } = {}): Promise<Rewards> {
  const { json = REWARD_JSON, text = REWARD_TEXT } = paths;
  const [inJson, inText] = await Promise.all([
    readBounded(files, json, JSON_BYTES_MAX),
    readBounded(files, text, TEXT_BYTES_MAX),
  ]);
  if (inJson !== null) return typeof inJson === 'string' ? parseRewardJson(inJson) : inJson;
  if (inText !== null) return typeof inText === 'string' ? parseRewardText(inText) : inText;
  return error('missing', `the grader wrote neither ${json} nor ${text}`);
}

/** A flat object of finite numbers, each key once. */
export function parseRewardJson(text: string): Rewards {
  if (text.trim() === '') return error('empty', 'the reward file is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return error('invalid', `the reward file is not JSON: ${(cause as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return error('invalid', 'the reward file is no JSON object');
  const entries = Object.entries(value);
  if (entries.length === 0) return error('empty', 'the reward file names no reward');
  if (entries.length > KEYS_MAX) return error('invalid', `the reward file names more than ${KEYS_MAX} rewards`);
  const wrong = entries.find(([, number]) => !Number.isFinite(number));
  if (wrong) return error('invalid', `the reward ${JSON.stringify(wrong[0]).slice(0, 100)} is no finite number`);
  // All values are numbers, so each string in the text is a key.
  const keys = (text.match(/"(?:[^"\\]|\\.)*"/g) ?? []).map((key) => JSON.parse(key) as string);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) return error('invalid', `the reward ${JSON.stringify(twice).slice(0, 100)} is given twice`);
  return { rewards: Object.fromEntries(entries), rewardError: null };
}

/** One decimal number. */
export function parseRewardText(text: string): Rewards {
  const word = text.trim();
  if (word === '') return error('empty', 'the reward file is empty');
  const reward = DECIMAL.test(word) ? Number(word) : Number.NaN;
  if (!Number.isFinite(reward))
    return error('invalid', `the reward file holds ${JSON.stringify(word.slice(0, 60))}, which is no finite number`);
  return { rewards: { reward }, rewardError: null };
}

/** Null: nothing is there. */
async function readBounded(files: Files, path: string, bytesMax: number): Promise<string | Rewards | null> {
  const entry = await files.stat(path, AS_ROOT).catch(missing);
  if (entry === null) return null;
  if (entry.type !== 'file') return error('not_a_file', `${path} is a ${entry.type}`);
  const tooLarge = () => error('too_large', `${path} has more than ${bytesMax} bytes`);
  if (entry.sizeBytes > bytesMax) return tooLarge();
  const bytes = await readHead(files, path, entry, bytesMax + 1);
  return bytes.length > bytesMax ? tooLarge() : toText(bytes);
}

async function readHead(files: Files, path: string, entry: Entry, length: number): Promise<Uint8Array> {
  if (entry.sizeBytes === 0) return new Uint8Array();
  return files.read(path, { ...AS_ROOT, length });
}

function missing(thrown: unknown): null {
  const { code } = VivError.from(thrown);
  if (code === 'path_not_found' || code === 'not_directory') return null;
  throw thrown;
}

function error(word: string, reason: string): Rewards {
  return { rewards: null, rewardError: `${word}: ${reason}` };
}
