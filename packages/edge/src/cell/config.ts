import type { GuestConfig } from '../drivers/driver.ts';
import { FRAME } from './frame.ts';
import type { Rlimit } from './rlimit.ts';
import { TlvFrame } from './tlv.ts';

/** Everything PID 1 is told once per boot (docs/guest-protocol.md, "CONFIG tags"). */
export function configFrame(config: GuestConfig, stream: number): Buffer {
  const flags = (config.unshareCgroup ? 1 : 0) | (config.loopbackUp ? 2 : 0) | (config.readonlySysctls ? 4 : 0);
  const frame = new TlvFrame(FRAME.CONFIG, true)
    .bytes(1, config.seccomp)
    .u64(2, config.capKeep)
    .u32(3, flags === 0 ? undefined : flags)
    .text(4, config.hostname);
  for (const [name, value] of Object.entries(config.sysctls ?? {})) frame.text(5, `${name}=${value}`);
  for (const [name, value] of Object.entries(config.env ?? {})) frame.text(6, `${name}=${value}`);
  for (const limit of config.rlimits ?? []) frame.bytes(7, rlimitBlock(limit));
  return frame.finish(stream);
}

export function rlimitBlock(limit: Rlimit): Buffer {
  const block = Buffer.alloc(20);
  block.writeUInt32LE(limit.resource, 0);
  block.writeBigUInt64LE(limit.soft, 4);
  block.writeBigUInt64LE(limit.hard, 12);
  return block;
}
