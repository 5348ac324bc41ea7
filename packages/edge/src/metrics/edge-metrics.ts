import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RunningExec } from '../exec/running-exec.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600];

/** What one edge counts, in Prometheus terms. */
export class EdgeMetrics {
  readonly registry: Registry;
  readonly sandboxes: Gauge<'state'>;
  readonly createSeconds: Histogram;
  readonly createFailed: Counter<'code'>;
  readonly ended: Counter<'reason'>;
  readonly execsRunning: Gauge;
  readonly execs: Counter<'outcome'>;
  readonly execSeconds: Histogram;
  readonly outputBytes: Counter;
  readonly portBytes: Counter<'direction'>;
  readonly adopted: Counter<'result'>;
  execsTotal = 0;

  constructor(registry = new Registry()) {
    this.registry = registry;
    const registers = [registry];
    const name = (suffix: string) => `vivarium_${suffix}`;
    this.sandboxes = new Gauge({
      name: name('sandboxes'),
      help: 'Sandboxes that hold resources, by state',
      labelNames: ['state'],
      registers,
    });
    this.createSeconds = new Histogram({
      name: name('create_seconds'),
      help: 'From the request to running',
      buckets: SECONDS,
      registers,
    });
    this.createFailed = new Counter({
      name: name('create_failed_total'),
      help: 'Creates that failed, by error code',
      labelNames: ['code'],
      registers,
    });
    this.ended = new Counter({
      name: name('sandboxes_ended_total'),
      help: 'Sandboxes that ended, by reason',
      labelNames: ['reason'],
      registers,
    });
    this.execsRunning = new Gauge({ name: name('execs_running'), help: 'Commands that run now', registers });
    this.execs = new Counter({
      name: name('execs_total'),
      help: 'Commands that ended, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.execSeconds = new Histogram({
      name: name('exec_seconds'),
      help: 'Duration of commands',
      buckets: SECONDS,
      registers,
    });
    this.outputBytes = new Counter({ name: name('exec_output_bytes_total'), help: 'Output of commands', registers });
    this.portBytes = new Counter({
      name: name('port_bytes_total'),
      help: 'Bytes through ports, by direction',
      labelNames: ['direction'],
      registers,
    });
    this.adopted = new Counter({
      name: name('adopted_total'),
      help: 'Sandboxes found at a start of the edge',
      labelNames: ['result'],
      registers,
    });
    collectDefaultMetrics({ register: registry, prefix: name('') });
  }

  created(ms: number): void {
    this.createSeconds.observe(ms / 1000);
  }

  execEnded(exec: RunningExec): void {
    const { outcome, durationMs } = (exec.endRecord?.data ?? {}) as {
      outcome?: { type: string } | null;
      durationMs?: number;
    };
    this.execsTotal += 1;
    this.execs.inc({ outcome: outcome?.type ?? 'refused' });
    this.execSeconds.observe((durationMs ?? 0) / 1000);
  }
}
