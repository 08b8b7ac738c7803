import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { type ExecutionRef, RunLifecycle } from '../../runs/index.js';

/**
 * What every call of an execution's agent begins with: it renews the lease. One about an execution that is over (ended, asked to stop,
 * or superseded) is a 409, at which the runner stops.
 */
@Injectable()
export class ExecutionLease {
  constructor(private readonly lifecycle: RunLifecycle) {}

  /** @throws Problem 409 when the execution is over */
  async renew(execution: ExecutionRef): Promise<void> {
    if (!(await this.lifecycle.renewLease(execution))) throw executionIsOver();
  }

  /**
   * The same in the transaction itself, until whose end nobody else moves the run: one that waited for a second connection could wait
   * for ever, when all do.
   *
   * @throws Problem 409 when the execution is over
   */
  async hold(tx: Tx, execution: ExecutionRef): Promise<void> {
    if (!(await this.lifecycle.holdLease(tx, execution))) throw executionIsOver();
  }
}

const executionIsOver = (): Problem =>
  new Problem('conflict', { detail: 'The execution is over: stop the agent', retryable: false });
