/**
 * `npm run bench:e2b [-- --only latency,stdout --state-dir DIR --keep]`: the bars of the E2B surface, measured through the published
 * npm client against a node of its own. Prints a table and ends with one line of JSON.
 */
import { parseArgs } from 'node:util';
import { Vivarium } from '@vivarium/sdk';
import { ensureE2bBase, ensureE2bCodeInterpreter } from '../scripts/demo/template-images.ts';
import { connectionTo } from '../test/harness/e2b.ts';
import { type Bars, report } from './bars.ts';
import { clientsAtOnce } from './e2b/clients.ts';
import { sdkLatency } from './e2b/latency.ts';
import { methodsMissing } from './e2b/methods.ts';
import { sdkStdout } from './e2b/stdout.ts';
import { openTestbed } from './node/testbed.ts';
import { chosen, type Measured, measure, type Section } from './sections.ts';

const BARS: Bars = {
  sdk_create_ms_p50: ['<=', 45],
  sdk_run_ms_p50: ['<=', 12],
  sdk_stdout_mib_s: ['>=', 60],
  clients_200_errors: ['==', 0],
  methods_missing: ['==', 0],
};

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    'state-dir': { type: 'string', default: '/var/lib/vivarium-bench-e2b' },
    keep: { type: 'boolean', default: false },
  },
});

const node = await openTestbed(flags['state-dir']);
const viv = new Vivarium({ url: node.url, apiKey: node.key });
const e2b = connectionTo(node);
let measured: Measured;
try {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  await ensureE2bBase(viv, say);
  const sections: Record<string, Section> = {
    latency: () => sdkLatency(e2b, viv),
    stdout: () => sdkStdout(e2b, viv),
    clients: () => clientsAtOnce(e2b),
    methods: async () => {
      await ensureE2bCodeInterpreter(viv, say);
      return await methodsMissing(e2b);
    },
  };
  measured = await measure(chosen(sections, flags.only));
} finally {
  viv.close();
  node.http.close();
  if (!flags.keep) await node.stop();
}
report('e2b', BARS, measured);
