import { Injectable } from '@nestjs/common';
import { Environments } from '../../catalog/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import {
  classifyFailure,
  ENDED_WITHOUT_RESULT,
  type ExecutionRef,
  type ReportableEventType,
  RunEventLog,
  RunLifecycle,
  RunRepository,
} from '../../runs/index.js';
import type {
  ClientEvent,
  FinishTaskRequest,
  ReportShutdownRequest,
  SetUpFailureRequest,
} from '../protocol/harness-support.js';
import { ExecutionLease } from './execution-lease.js';

/** What the agent of an execution reports, under the run's own key: that it works, how it went, and that it has ended. */
@Injectable()
export class ReportExecution {
  constructor(
    private readonly lease: ExecutionLease,
    private readonly lifecycle: RunLifecycle,
    private readonly runs: RunRepository,
    private readonly events: RunEventLog,
    private readonly environments: Environments,
    private readonly transactor: Transactor,
    private readonly database: Database,
  ) {}

  /**
   * An event that the agent reports. `run_in_progress` and `run_blocked` move the run, the others are for whoever follows it.
   *
   * @returns the number of the run's latest event, which after a report that is news is this one
   */
  async event(
    execution: ExecutionRef,
    event: { type: ReportableEventType; refId: string | null },
  ): Promise<number> {
    await this.transactor.run(async (tx) => {
      await this.lease.hold(tx, execution);
      switch (event.type) {
        case 'run_in_progress':
          return this.lifecycle.begin(tx, execution);
        case 'run_blocked':
          return this.block(tx, execution);
        case 'run_session_linked':
          return this.events.add(tx, execution, event);
      }
    });
    await this.events.settle();
    return this.events.latestOf(this.database, execution.runId);
  }

  /** How far the agent has read the events that it follows. */
  async noteEventSequence(tx: Tx, execution: ExecutionRef, sequence: number): Promise<void> {
    await this.lease.hold(tx, execution);
    await this.runs.noteEventSequence(tx, execution.runId, sequence);
  }

  /** Something that the agent wants whoever follows the run to know: `user_notified` on its timeline. */
  async notifyUser(tx: Tx, execution: ExecutionRef, message: string): Promise<void> {
    await this.lease.hold(tx, execution);
    await this.runs.addTimelineEvent(tx, {
      eventUuid: newUuid(),
      ...execution,
      eventType: 'user_notified',
      payload: { message },
    });
  }

  /** The outcome as the agent sees it. The first outcome of a run stands. */
  async finishTask(tx: Tx, execution: ExecutionRef, { success, summary }: FinishTaskRequest): Promise<void> {
    await this.lease.hold(tx, execution);
    await this.lifecycle.finish(
      tx,
      execution,
      success
        ? { event: 'succeed', statusMessage: { message: summary } }
        : classifyFailure('agent_process_failed', summary),
    );
  }

  /**
   * The environment could not be set up. Where it asks for that, and the runner can, the session is kept for debugging.
   *
   * @returns until when; undefined: the runner is to end as always
   */
  async setUpFailure(
    tx: Tx,
    execution: ExecutionRef,
    { message, session_retained: isRetained }: SetUpFailureRequest,
  ): Promise<Date | undefined> {
    await this.lease.hold(tx, execution);
    const minutes = isRetained === true ? await this.retentionMinutes(tx, execution) : 0;
    return this.lifecycle.failSetUp(tx, execution, message, minutes);
  }

  private async retentionMinutes(tx: Tx, { runId }: ExecutionRef): Promise<number> {
    const facts = await this.runs.executionFacts(tx, runId);
    if (facts === undefined) throw Problem.notFound('run');
    const { environment_id: uid } = facts.agentConfig;
    const environment = uid === undefined ? undefined : await this.environments.config(tx, uid);
    return environment?.failure_session_retention_minutes ?? 0;
  }

  /** The last call: the execution is over. Accepted after a stop was asked for as well: it confirms the stop. */
  async reportShutdown(tx: Tx, execution: ExecutionRef, { error }: ReportShutdownRequest): Promise<void> {
    await this.lifecycle.close(
      tx,
      execution,
      error?.category ?? 'shutdown',
      error === undefined ? ENDED_WITHOUT_RESULT : classifyFailure(error.category, error.message),
    );
  }

  /** What happened, for the timeline. `run_blocked` moves the run as well, the only one that does. */
  async clientEvent(tx: Tx, execution: ExecutionRef, event: ClientEvent): Promise<void> {
    await this.lease.hold(tx, execution);
    await this.runs.addTimelineEvent(tx, {
      eventUuid: event.event_uuid,
      runId: execution.runId,
      executionId: execution.executionId,
      eventType: event.event_name,
      occurredAt: new Date(event.timestamp),
      payload: event.payload ?? null,
    });
    if (event.event_name === 'run_blocked') await this.block(tx, execution);
  }

  private block(tx: Tx, execution: ExecutionRef): Promise<void> {
    return this.lifecycle.finish(tx, execution, {
      event: 'block',
      statusMessage: { message: 'The agent waits for a person' },
    });
  }
}
