import type { ProcessInfo } from '@vivarium/protocol';
import { violation } from './frame.ts';

const FIXED_BYTES = 56;
export const PROCESS_BYTES_MAX = FIXED_BYTES + 65_535 + 4_096;

/** A whole PROCS record (docs/guest-protocol.md). Names are the guest's claim; what isn't UTF-8 becomes U+FFFD. */
export function parseProcess(record: Buffer): ProcessInfo {
  if (record.length < FIXED_BYTES) throw violation(`process record of ${record.length} bytes`);
  const commEnd = FIXED_BYTES + record.readUInt16LE(18);
  if (commEnd + record.readUInt32LE(20) !== record.length) throw violation('process record that lies about its length');
  const argv = record.subarray(commEnd).toString('utf8').split('\0');
  if (argv.at(-1) === '') argv.pop();
  return {
    pid: record.readUInt32LE(4),
    ppid: record.readUInt32LE(8),
    uid: record.readUInt32LE(12),
    state: String.fromCharCode(record[16] as number),
    comm: record.toString('utf8', FIXED_BYTES, commEnd),
    argv,
    rssKiB: counter(record, 24),
    userMs: counter(record, 32),
    systemMs: counter(record, 40),
  };
}

function counter(record: Buffer, at: number): number {
  return Number(record.readBigUInt64LE(at));
}
