import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Counts what happened, by labels. */
export interface LabelledCounter<Label extends string> {
  increment(labels: Record<Label, string>): void;
}

/** The metrics of one application, in a registry of its own; names follow OpenTelemetry's conventions where they have one. */
@Injectable()
export class Metrics {
  private readonly registry = new Registry();

  readonly requestDuration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP requests by method, route and status',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** A count of what happened, by labels. */
  counter<Label extends string>(options: {
    name: string;
    help: string;
    labelNames: Label[];
  }): LabelledCounter<Label> {
    const counter = new Counter({ ...options, registers: [this.registry] });
    return {
      increment: (labels) => {
        counter.inc(labels);
      },
    };
  }

  /** A gauge whose values are read when it is scraped: pairs of labels and value. */
  observeGauge<Label extends string>(options: {
    name: string;
    help: string;
    labelNames: Label[];
    read: () => Promise<{ labels: Record<Label, string>; value: number }[]>;
  }): void {
    const { name, help, labelNames, read } = options;
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      async collect() {
        this.reset();
        for (const { labels, value } of await read()) this.set(labels, value);
      },
    });
  }

  /** Prometheus text format. */
  render(): Promise<string> {
    return this.registry.metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}
