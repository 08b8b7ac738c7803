import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import {
  type ExecutionRef,
  ExecutionQueries,
  type Outcome,
  RunLifecycle,
  WaitingRuns,
} from '../../runs/index.js';
import { SILENCE_SECONDS, WorkerConnectionRepository } from '../persistence/worker-connection.repository.js';

const SWEEP_MS = 1000;
/** How long a worker may take to confirm a stop. */
const STOP_CONFIRMATION_SECONDS = 30;

const WORKER_LOST: Outcome = {
  event: 'error',
  statusMessage: {
    message: 'The worker was lost: neither it nor the agent has been heard of within the lease',
    error_code: 'resource_unavailable',
    retryable: true,
  },
};

/** Sees to it that no run stays in a state that nobody is working on. Any number of replicas sweep; every step is guarded. */
@Injectable()
export class SweepExecutions {
  private readonly logger = new Logger(SweepExecutions.name);
  /** Since when this process could have heard of agents. While it or the database was down, nobody could report. */
  private listeningSince = Date.now();
  /** The end of the last time that this process could not reach the database. */
  private outageEndedAt = 0;

  constructor(
    private readonly executions: ExecutionQueries,
    private readonly lifecycle: RunLifecycle,
    private readonly waitingRuns: WaitingRuns,
    private readonly connections: WorkerConnectionRepository,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
    private readonly config: AppConfig,
  ) {}

  @Interval(SWEEP_MS)
  tick(): Promise<void> {
    return this.background.round(
      { role: 'sweeper', complaint: 'executions could not be swept' },
      async () => {
        try {
          await this.sweep();
        } catch (error) {
          if (isDatabaseUnavailable(error)) this.listeningSince = this.outageEndedAt = Date.now();
          throw error;
        }
      },
    );
  }

  async sweep(): Promise<void> {
    await this.requeueUnclaimed();
    await this.expireLeases();
    await this.stopOverlong();
    await this.endRetentions();
    await this.closeUnconfirmedStops();
    await this.explainWaiting();
  }

  private async requeueUnclaimed(): Promise<void> {
    for (const connectionId of await this.silentConnections()) {
      const unclaimed = await this.executions.unclaimedOfConnection(connectionId);
      await this.each(unclaimed, (tx, execution) => this.lifecycle.requeue(tx, execution, 'worker_lost'));
    }
    await this.each(await this.executions.overdueClaims(), (tx, execution) =>
      this.lifecycle.requeue(tx, execution, 'claim_deadline'),
    );
  }

  /** None after an outage, until each has had the time to say that it is there. */
  private async silentConnections(): Promise<string[]> {
    if (Date.now() - this.outageEndedAt < SILENCE_SECONDS * 1000) return [];
    return this.connections.deleteSilent();
  }

  private async expireLeases(): Promise<void> {
    if (Date.now() - this.listeningSince < this.config.leaseSeconds * 1000) return;
    await this.each(await this.executions.expiredLeases(), (tx, execution) =>
      this.lifecycle.expire(tx, execution, WORKER_LOST),
    );
  }

  private async stopOverlong(): Promise<void> {
    const minutes = this.config.maxRunMinutes;
    await this.each(await this.executions.overlongExecutions(minutes), (tx, execution) =>
      this.lifecycle.stop(tx, execution, {
        event: 'error',
        statusMessage: {
          message: `The run took longer than ${String(minutes)} minutes and was stopped`,
          error_code: 'infrastructure_timeout',
          retryable: false,
        },
      }),
    );
  }

  private async endRetentions(): Promise<void> {
    await this.each(await this.executions.retentionsOver(), (tx, execution) =>
      this.lifecycle.endRetention(tx, execution),
    );
  }

  private async closeUnconfirmedStops(): Promise<void> {
    await this.each(await this.executions.unconfirmedStops(STOP_CONFIRMATION_SECONDS), (tx, execution) =>
      this.lifecycle.close(tx, execution, 'stop_not_confirmed', WORKER_LOST),
    );
  }

  private async explainWaiting(): Promise<void> {
    const groups = await this.waitingRuns.groups();
    if (groups.length === 0) return;
    const limit = this.config.teamMaxConcurrentRuns;
    const full = limit === 0 ? [] : await this.waitingRuns.teamsAtLimit(limit);
    if (full.length > 0) {
      const reason = `Waiting for an earlier run: the team is at its limit of ${String(limit)} runs at a time`;
      await this.transactor.run((tx) => this.waitingRuns.explainTeams(tx, full, reason));
    }
    for (const group of groups) {
      const workers = await this.connections.count(group.workerHost, group.teamUid);
      const whose = group.workerHost === null ? 'of the hosted pool' : `named ${group.workerHost}`;
      const reason =
        workers === 0
          ? `Waiting for a worker: none ${whose} is connected`
          : `Waiting for a free slot: every connected worker ${whose} is busy`;
      await this.transactor.run((tx) => this.waitingRuns.explain(tx, group, reason, full));
    }
  }

  private async each(
    executions: ExecutionRef[],
    step: (tx: Parameters<Parameters<Transactor['run']>[0]>[0], execution: ExecutionRef) => Promise<unknown>,
  ): Promise<void> {
    for (const execution of executions) {
      const fields = { run_id: execution.runId, execution_id: execution.executionId };
      try {
        await this.transactor.run((tx) => step(tx, execution));
        this.logger.warn(fields, 'swept an execution');
      } catch (error) {
        // One that cannot be helped must not keep the others waiting; without the database none can.
        if (isDatabaseUnavailable(error)) throw error;
        this.logger.error({ ...fields, err: error }, 'an execution could not be swept');
      }
    }
  }
}
