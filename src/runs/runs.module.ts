import { Module, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../kernel/observability/metrics.js';
import { ConversationsController } from './api/conversations.controller.js';
import { RunsController } from './api/runs.controller.js';
import { CancelRun } from './application/cancel-run.js';
import { CreateRun } from './application/create-run.js';
import { GetRun } from './application/get-run.js';
import { ListRuns } from './application/list-runs.js';
import { NormaliseConversation } from './application/normalise-conversation.js';
import { ReadConversation } from './application/read-conversation.js';
import { RunLifecycle } from './application/run-lifecycle.js';
import { ConversationRepository } from './persistence/conversation.repository.js';
import { ExecutionQueries } from './persistence/execution-queries.js';
import { RunTransitions } from './persistence/run-transitions.js';
import { RunReadModel } from './persistence/run.read-model.js';
import { RunRepository } from './persistence/run.repository.js';
import { WaitingRuns } from './persistence/waiting-runs.js';

@Module({
  controllers: [RunsController, ConversationsController],
  providers: [
    CreateRun,
    ListRuns,
    GetRun,
    CancelRun,
    ReadConversation,
    NormaliseConversation,
    RunLifecycle,
    RunRepository,
    RunTransitions,
    ExecutionQueries,
    WaitingRuns,
    RunReadModel,
    ConversationRepository,
  ],
  exports: [CreateRun, RunLifecycle, ExecutionQueries, WaitingRuns, RunRepository, ConversationRepository],
})
export class RunsModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly runs: RunReadModel,
  ) {}

  onModuleInit(): void {
    this.metrics.observeGauge({
      name: 'millwright_runs',
      help: 'Runs that have not ended, by state',
      labelNames: ['state'],
      read: async () =>
        (await this.runs.countLive()).map(({ state, count }) => ({ labels: { state }, value: count })),
    });
  }
}
