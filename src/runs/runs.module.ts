import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { ArtifactRuns, ArtifactsModule } from '../artifacts/index.js';
import { CatalogModule, EnvironmentRuns, SkillRuns } from '../catalog/index.js';
import { Metrics } from '../kernel/observability/metrics.js';
import { AttachmentsController } from './api/attachments.controller.js';
import { ConversationsController } from './api/conversations.controller.js';
import { EventStreams } from './api/event-stream.js';
import { EventsController } from './api/events.controller.js';
import { MessagesController } from './api/messages.controller.js';
import { HandoffController } from './api/handoff.controller.js';
import { RunPageController } from './api/run-page.controller.js';
import { RunsController } from './api/runs.controller.js';
import { CancelRun } from './application/cancel-run.js';
import { ConfigureRun } from './application/configure-run.js';
import { CreateRun } from './application/create-run.js';
import { EventFeed } from './application/event-feed.js';
import { ExchangeAttachments } from './application/exchange-attachments.js';
import { ExchangeMessages } from './application/exchange-messages.js';
import { DescribeRuns } from './application/describe-runs.js';
import { FollowUpRun } from './application/follow-up-run.js';
import { ForgetEvents } from './application/forget-events.js';
import { GetRun } from './application/get-run.js';
import { ListRuns } from './application/list-runs.js';
import { ModelChoice } from './application/model-choice.js';
import { NormaliseConversation } from './application/normalise-conversation.js';
import { PrepareRun } from './application/prepare-run.js';
import { ReadConversation } from './application/read-conversation.js';
import { ReadEvents } from './application/read-events.js';
import { ReadHandoff } from './application/read-handoff.js';
import { ReleaseIdempotencyKeys } from './application/release-idempotency-keys.js';
import { RunLifecycle } from './application/run-lifecycle.js';
import { StartRun } from './application/start-run.js';
import { StoreAttachments } from './application/store-attachments.js';
import { ArtifactRunsAdapter } from './persistence/artifact-runs.js';
import { AttachmentRepository } from './persistence/attachment.repository.js';
import { ConversationRepository } from './persistence/conversation.repository.js';
import { EndedRuns } from './persistence/ended-runs.js';
import { EnvironmentRunsReadModel } from './persistence/environment-runs.js';
import { ExecutionQueries } from './persistence/execution-queries.js';
import { IdempotencyKeyRepository } from './persistence/idempotency-key.repository.js';
import { RunEventLog } from './persistence/run-event-log.js';
import { RunEventReadModel } from './persistence/run-event.read-model.js';
import { OwnerShares } from './persistence/owner-shares.js';
import { RunMail } from './persistence/run-mail.js';
import { RunMessageRepository } from './persistence/run-message.repository.js';
import { RunExecutionRepository } from './persistence/run-execution.repository.js';
import { RunQueue } from './persistence/run-queue.js';
import { RunTransitions } from './persistence/run-transitions.js';
import { RunList } from './persistence/run-list.js';
import { RunSearch } from './persistence/run-search.js';
import { RunReadModel } from './persistence/run.read-model.js';
import { RunRepository } from './persistence/run.repository.js';
import { SkillRunsReadModel } from './persistence/skill-runs.js';
import { WaitingRuns } from './persistence/waiting-runs.js';

/** Binds the ports of other contexts that runs implements, for the whole application: those contexts do not import runs. */
@Global()
@Module({
  providers: [
    RunSearch,
    { provide: ArtifactRuns, useClass: ArtifactRunsAdapter },
    { provide: EnvironmentRuns, useClass: EnvironmentRunsReadModel },
    { provide: SkillRuns, useClass: SkillRunsReadModel },
  ],
  exports: [ArtifactRuns, EnvironmentRuns, SkillRuns],
})
class PortsModule {}

@Module({
  imports: [PortsModule, CatalogModule, ArtifactsModule],
  controllers: [
    RunsController,
    ConversationsController,
    EventsController,
    MessagesController,
    HandoffController,
    AttachmentsController,
    RunPageController,
  ],
  providers: [
    StartRun,
    PrepareRun,
    ConfigureRun,
    ModelChoice,
    StoreAttachments,
    ExchangeAttachments,
    ReleaseIdempotencyKeys,
    CreateRun,
    ListRuns,
    GetRun,
    DescribeRuns,
    ReadHandoff,
    CancelRun,
    FollowUpRun,
    ReadConversation,
    NormaliseConversation,
    RunLifecycle,
    RunRepository,
    RunMessageRepository,
    RunQueue,
    RunTransitions,
    RunExecutionRepository,
    RunEventLog,
    RunEventReadModel,
    EventFeed,
    RunMail,
    ExchangeMessages,
    EventStreams,
    ReadEvents,
    ForgetEvents,
    ExecutionQueries,
    EndedRuns,
    WaitingRuns,
    RunReadModel,
    RunList,
    OwnerShares,
    RunSearch,
    ConversationRepository,
    AttachmentRepository,
    IdempotencyKeyRepository,
  ],
  exports: [
    ConfigureRun,
    CreateRun,
    PrepareRun,
    GetRun,
    ModelChoice,
    EndedRuns,
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
    this.metrics.observeGauge({
      name: 'millwright_queue_lag_seconds',
      help: 'How long the queued run that has waited longest has been waiting for a worker, by pool; 0 = none waits',
      labelNames: ['pool'],
      read: async () =>
        (await this.runs.queueLag()).map(({ pool, seconds }) => ({ labels: { pool }, value: seconds })),
    });
  }
}
