import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import { type ExecutionRef, RunRepository } from '../../runs/index.js';
import type { UsageReport } from '../protocol/harness-support.js';
import { ExecutionLease } from './execution-lease.js';

/** Keeps what an execution has used of models: the last report of each execution counts, the run has the sum of them. */
@Injectable()
export class ReportUsage {
  constructor(
    private readonly lease: ExecutionLease,
    private readonly runs: RunRepository,
  ) {}

  /** @throws Problem 409 when the execution is over */
  async execute(tx: Tx, execution: ExecutionRef, usage: UsageReport): Promise<void> {
    await this.lease.hold(tx, execution);
    await this.runs.setUsage(tx, execution, {
      totalTokens: usage.total_tokens,
      inferenceCostUsd: usage.cost_usd ?? null,
    });
  }
}
