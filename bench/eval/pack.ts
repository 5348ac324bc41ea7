import type { Vivarium } from '@vivarium/sdk';
import { quantile, timed } from '../node/samples.ts';

const FILES = 10;
const FILE_BYTES = 104_858;
const ROUNDS = 25;

export type PackBench = { pack_ms_p50: number; pack_ms_p99: number; pack_bytes_ratio: number };

/**
 * Packs sandboxes that each changed ten files of their image, a mebibyte of random bytes in all (`base` is the image below that): the
 * time of the call from the client's side, and the layer's size over the bytes changed. The images are removed.
 */
export async function packBench(viv: Vivarium, base: string): Promise<PackBench> {
  const mark = Date.now().toString(36);
  const image = `bench/pack-${mark}@base`;
  const script = `mkdir -p /work && cd /work && for i in $(seq ${FILES}); do head -c ${FILE_BYTES} /dev/urandom > f$i; done`;
  const names = [image];
  const change = async (from: string, name: string) => {
    await using sandbox = await viv.sandboxes.create({ image: from });
    (await sandbox.exec(script)).check();
    names.unshift(name);
    return await timed(() => sandbox.pack({ image: name }));
  };
  try {
    await change(base, image);
    const times: number[] = [];
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { ms, value } = await change(image, `bench/pack-${mark}@${round}`);
      times.push(ms);
      ratios.push(value.layer!.sizeBytes / value.changed.bytes);
    }
    const round2 = (value: number) => Math.round(value * 100) / 100;
    return {
      pack_ms_p50: round2(quantile(times, 0.5)),
      pack_ms_p99: round2(quantile(times, 0.99)),
      pack_bytes_ratio: Math.round(Math.max(...ratios) * 1000) / 1000,
    };
  } finally {
    for (const name of names) await viv.images.remove(name).catch(() => {});
  }
}
