import { Injectable } from '@nestjs/common';
import { RunKeys } from '../../identities/index.js';
import { JobQueue } from '../../kernel/jobs/job-queue.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { classifyFailure, type StatusMessage } from '../domain/status-message.js';
import { ConversationRepository } from '../persistence/conversation.repository.js';
import { RunExecutionRepository } from '../persistence/run-execution.repository.js';
import { type AssignedRun, RunQueue, type WorkerPool } from '../persistence/run-queue.js';
import { type ExecutionRef, RunTransitions } from '../persistence/run-transitions.js';

/** How an execution left its run: the event, and what the run says about it. */
export interface Outcome {
  event: 'succeed' | 'fail' | 'error' | 'block';
  statusMessage: StatusMessage | null;
}

/** A clean end without a result is no proof of success. */
export const ENDED_WITHOUT_RESULT: Outcome = {
  event: 'fail',
  statusMessage: {
    message: 'The agent ended without a result',
    error_code: 'agent_process_failed',
    retryable: true,
  },
};

/** The port through which whoever executes runs moves them. An execution's key is issued and revoked with it. */
@Injectable()
export class RunLifecycle {
  constructor(
    private readonly queue: RunQueue,
    private readonly transitions: RunTransitions,
    private readonly executions: RunExecutionRepository,
    private readonly runKeys: RunKeys,
    private readonly conversations: ConversationRepository,
    private readonly jobs: JobQueue,
    private readonly signals: Signals,
  ) {}

  /** Takes up to `limit` runs off the queue for a worker; each comes with the key that its agent reports with. */
  async assign(
    tx: Tx,
    worker: { pool: WorkerPool; workerId: string; connectionId: string },
    limit: number,
  ): Promise<(AssignedRun & { runKey: string })[]> {
    const assigned = await this.queue.assign(tx, worker, limit);
    if (assigned.length === 0) return [];
    const keys = await this.runKeys.issue(tx, assigned);
    return assigned.map((run, index) => ({ ...run, runKey: keys[index] ?? '' }));
  }

  /** Opens the execution of a run that its creator executes. @returns the run's own key, for its reports */
  async openSelfExecuted(tx: Tx, runIds: string[]): Promise<Map<string, string>> {
    const opened = await this.executions.openSelfExecuted(tx, runIds);
    const keys = await this.runKeys.issue(tx, opened);
    return new Map(opened.map(({ runId }, index) => [runId, keys[index] ?? '']));
  }

  /** False when the execution is no longer the run's: the worker is to drop it. */
  claim(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    return this.transitions.claim(tx, execution);
  }

  async requeue(tx: Tx, execution: ExecutionRef, reason: string): Promise<boolean> {
    const requeued = await this.transitions.requeue(tx, execution, reason);
    if (requeued) {
      await this.runKeys.revoke(tx, [execution.executionId]);
      tx.afterCommit(() => {
        this.signals.send('run_queued', null);
      });
    }
    return requeued;
  }

  begin(tx: Tx, execution: ExecutionRef): Promise<void> {
    return this.transitions.begin(tx, execution);
  }

  /**
   * The run's outcome; the first one stands. The execution stays open: its agent may still report.
   *
   * A run whose agent ended without the latest follow-ups is queued again in the same transaction: a follow-up that comes later finds
   * the run ended and queues it itself.
   */
  async finish(tx: Tx, execution: ExecutionRef, { event, statusMessage }: Outcome): Promise<void> {
    if (await this.transitions.finish(tx, execution, event, statusMessage))
      await this.transitions.continueUndelivered(tx, execution);
  }

  /**
   * The environment could not be set up: the run FAILED. The execution lives on with its session where that is to be kept.
   *
   * @param retentionMinutes 0: nothing is kept
   * @returns until when it is kept
   */
  async failSetUp(
    tx: Tx,
    execution: ExecutionRef,
    message: string,
    retentionMinutes: number,
  ): Promise<Date | undefined> {
    const until =
      retentionMinutes > 0 ? await this.executions.retainSession(tx, execution, retentionMinutes) : undefined;
    await this.finish(tx, execution, classifyFailure('environment_setup_failed', message));
    return until;
  }

  /** Asks an execution to stop that has kept the session of its failed set-up for long enough. */
  async endRetention(tx: Tx, execution: ExecutionRef): Promise<void> {
    if (await this.executions.endRetention(tx, execution)) {
      tx.afterCommit(() => {
        this.signals.send('execution_stop', execution);
      });
    }
  }

  /** The execution is over. A run that has no outcome by now gets the given one. */
  async close(tx: Tx, execution: ExecutionRef, reason: string, ifUnfinished: Outcome): Promise<void> {
    await this.finish(tx, execution, ifUnfinished);
    if (await this.executions.end(tx, execution, reason)) await this.cleanUp(tx, execution);
  }

  /** Closes the execution if its lease has run out: nobody has heard of it for that long. */
  async expire(tx: Tx, execution: ExecutionRef, ifUnfinished: Outcome): Promise<boolean> {
    if (!(await this.executions.expireLease(tx, execution))) return false;
    await this.finish(tx, execution, ifUnfinished);
    await this.cleanUp(tx, execution);
    return true;
  }

  /** Ends the run now and asks the worker to stop the execution. */
  async stop(tx: Tx, execution: ExecutionRef, outcome: Outcome): Promise<void> {
    await this.finish(tx, execution, outcome);
    if (await this.executions.requestStop(tx, execution)) {
      tx.afterCommit(() => {
        this.signals.send('execution_stop', execution);
      });
    }
  }

  /** A sign of life of the execution's runner. False: the execution is over, the runner is to stop. */
  renewLease(execution: ExecutionRef): Promise<boolean> {
    return this.executions.renewLease(execution);
  }

  /** The same at the beginning of a transaction in which the runner reports more. */
  holdLease(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    return this.executions.holdLease(tx, execution);
  }

  renewLeasesOfConnection(connectionId: string): Promise<void> {
    return this.executions.renewLeasesOfConnection(connectionId);
  }

  private async cleanUp(tx: Tx, { runId, executionId }: ExecutionRef): Promise<void> {
    await this.runKeys.revoke(tx, [executionId]);
    await this.transitions.continueAfterDebugging(tx, { runId, executionId });
    const conversation = await this.conversations.ofRun(tx, runId);
    if (conversation?.transcript_key) {
      const { id } = conversation;
      await this.jobs.enqueue(tx, 'normalise_conversation', { conversationId: id }, `conversation ${id}`);
    }
    // A run that was continued while this execution was stopping waits for it.
    tx.afterCommit(() => {
      this.signals.send('run_queued', null);
    });
  }
}
