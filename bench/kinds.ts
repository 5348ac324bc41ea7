/**
 * `npm run bench:kinds [-- --only fn --state-dir DIR]`: what the kinds beside `container` cost, measured on this machine against a node of its
 * own with the shipped security defaults. Prints a table and ends with one line of JSON.
 */
import { parseArgs } from 'node:util';
import { type Bars, report } from './bars.ts';
import { fnCalls } from './kinds/fn.ts';
import { openTestbed, type Testbed } from './node/testbed.ts';
import { chosen, type Measured, measure, type Section } from './sections.ts';

const BARS: Bars = {
  fn_call_ms_p50: ['<=', 8],
  fn_call_ms_p99: ['<=', 40],
  fn_calls_per_s: ['>=', 150],
  fn_python_ms_p50: ['<=', 60],
};

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    'state-dir': { type: 'string', default: '/var/lib/vivarium-bench' },
    keep: { type: 'boolean', default: false },
  },
});

const sectionsOf = (bed: Testbed): Record<string, Section> => ({ fn: () => fnCalls(bed) });

const bed = await openTestbed(flags['state-dir']);
let measured: Measured;
try {
  measured = await measure(chosen(sectionsOf(bed), flags.only));
} finally {
  bed.http.close();
  if (!flags.keep) await bed.stop();
}
report('kinds', BARS, measured);
