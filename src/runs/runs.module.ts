import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { CatalogModule, EnvironmentRuns, SkillRuns } from '../catalog/index.js';
import { Metrics } from '../kernel/observability/metrics.js';
import { ConversationsController } from './api/conversations.controller.js';
import { EventStreams } from './api/event-stream.js';
import { EventsController } from './api/events.controller.js';
import { MessagesController } from './api/messages.controller.js';
import { RunsController } from './api/runs.controller.js';
import { CancelRun } from './application/cancel-run.js';
import { ConfigureRun } from './application/configure-run.js';
import { CreateRun } from './application/create-run.js';
import { EventFeed } from './application/event-feed.js';
import { ExchangeMessages } from './application/exchange-messages.js';
import { FollowUpRun } from './application/follow-up-run.js';
import { ForgetEvents } from './application/forget-events.js';
import { GetRun } from './application/get-run.js';
import { ListRuns } from './application/list-runs.js';
import { NormaliseConversation } from './application/normalise-conversation.js';
import { PrepareRun } from './application/prepare-run.js';
import { ReadConversation } from './application/read-conversation.js';
import { ReadEvents } from './application/read-events.js';
import { ReleaseIdempotencyKeys } from './application/release-idempotency-keys.js';
import { RunLifecycle } from './application/run-lifecycle.js';
import { StartRun } from './application/start-run.js';
import { StoreAttachments } from './application/store-attachments.js';
import { AttachmentRepository } from './persistence/attachment.repository.js';
import { ConversationRepository } from './persistence/conversation.repository.js';
import { EnvironmentRunsReadModel } from './persistence/environment-runs.js';
import { ExecutionQueries } from './persistence/execution-queries.js';
import { IdempotencyKeyRepository } from './persistence/idempotency-key.repository.js';
import { RunEventLog } from './persistence/run-event-log.js';
import { RunEventReadModel } from './persistence/run-event.read-model.js';
import { RunMail } from './persistence/run-mail.js';
import { RunMessageRepository } from './persistence/run-message.repository.js';
import { RunTransitions } from './persistence/run-transitions.js';
import { RunList } from './persistence/run-list.js';
import { RunSearch } from './persistence/run-search.js';
import { RunReadModel } from './persistence/run.read-model.js';
import { RunRepository } from './persistence/run.repository.js';
import { SkillRunsReadModel } from './persistence/skill-runs.js';
import { WaitingRuns } from './persistence/waiting-runs.js';

/** Binds the ports of the catalogue that runs implements, for the whole application: the catalogue does not import runs. */
@Global()
@Module({
  providers: [
    { provide: EnvironmentRuns, useClass: EnvironmentRunsReadModel },
    { provide: SkillRuns, useClass: SkillRunsReadModel },
  ],
  exports: [EnvironmentRuns, SkillRuns],
})
class CatalogPortsModule {}

@Module({
  imports: [CatalogPortsModule, CatalogModule],
  controllers: [RunsController, ConversationsController, EventsController, MessagesController],
  providers: [
    StartRun,
    PrepareRun,
    ConfigureRun,
    StoreAttachments,
    ReleaseIdempotencyKeys,
    CreateRun,
    ListRuns,
    GetRun,
    CancelRun,
    FollowUpRun,
    ReadConversation,
    NormaliseConversation,
    RunLifecycle,
    RunRepository,
    RunMessageRepository,
    RunTransitions,
    RunEventLog,
    RunEventReadModel,
    EventFeed,
    RunMail,
    ExchangeMessages,
    EventStreams,
    ReadEvents,
    ForgetEvents,
    ExecutionQueries,
    WaitingRuns,
    RunReadModel,
    RunList,
    RunSearch,
    ConversationRepository,
    AttachmentRepository,
    IdempotencyKeyRepository,
  ],
  exports: [
    ConfigureRun,
    CreateRun,
    PrepareRun,
    AttachmentRepository,
    StoreAttachments,
    RunLifecycle,
    ExecutionQueries,
    WaitingRuns,
    RunRepository,
    RunMessageRepository,
    RunEventLog,
    RunSearch,
    ConversationRepository,
  ],
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
