import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Database } from '../persistence/database.js';

export interface ReadinessReport {
  status: 'ready' | 'not_ready';
  checks: Record<string, string>;
}

const CHECK_TIMEOUT_MS = 2000;

/** Whether this process can serve. A load balancer that asks stops sending requests as soon as a stop has begun. */
@Injectable()
export class Readiness {
  private stopping = false;

  constructor(
    private readonly database: Database,
    private readonly dataSource: DataSource,
  ) {}

  /** From now on the process is not ready. */
  beginStop(): void {
    this.stopping = true;
  }

  async check(): Promise<ReadinessReport> {
    const checks: Record<string, string> = { database: await this.checkDatabase() };
    if (this.stopping) checks.process = 'stopping';
    const ready = Object.values(checks).every((result) => result === 'ok');
    return { status: ready ? 'ready' : 'not_ready', checks };
  }

  private async checkDatabase(): Promise<string> {
    const newest = this.dataSource.migrations.at(-1)?.constructor.name;
    try {
      const query = this.database.query('SELECT 1 FROM migrations WHERE name = $1', [newest]);
      const rows = await withTimeout(query, CHECK_TIMEOUT_MS);
      return rows.length === 1 ? 'ok' : 'not migrated';
    } catch {
      return 'unreachable';
    }
  }
}

async function withTimeout<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${String(milliseconds)} ms`));
    }, milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
