import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Counts of the API itself. The edge has its own; `/metrics` shows both. */
export class RequestMetrics {
  readonly registry = new Registry();
  readonly #requests = new Counter({
    name: 'viv_http_requests_total',
    help: 'HTTP requests by operation and status',
    labelNames: ['route', 'status'],
    registers: [this.registry],
  });
  readonly #duration = new Histogram({
    name: 'viv_http_request_duration_seconds',
    help: 'Time until the answer was handed to the connection',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
    registers: [this.registry],
  });
  readonly connections = new Gauge({
    name: 'viv_mux_connections',
    help: 'Open multiplexed connections',
    registers: [this.registry],
  });
  readonly channels = new Gauge({
    name: 'viv_mux_channels',
    help: 'Open channels of all connections',
    registers: [this.registry],
  });
  readonly gateway = new Counter({
    name: 'viv_gateway_requests_total',
    help: 'Requests forwarded to ports of sandboxes',
    labelNames: ['kind'],
    registers: [this.registry],
  });

  observe(route: string, status: number, ms: number): void {
    this.#requests.inc({ route, status });
    this.#duration.observe({ route }, ms / 1000);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}
