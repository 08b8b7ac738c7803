import { DataSource } from 'typeorm';
import {
  ArtifactEntity,
  ArtifactPlanVersionEntity,
  ArtifactUploadEntity,
  SnapshotCheckpointEntity,
  SnapshotFileEntity,
} from '../artifacts/persistence/artifact.entities.js';
import {
  AgentEntity,
  ApiKeyEntity,
  MembershipEntity,
  TeamEntity,
  UserEntity,
} from '../identities/persistence/identity.entities.js';
import {
  EnvironmentEntity,
  EnvironmentLinkVisitEntity,
  EnvironmentShareEntity,
  SecretEntity,
} from '../catalog/persistence/catalog.entities.js';
import { ObjectDeletionEntity } from '../kernel/storage/object-deletion.entity.js';
import { WorkerConnectionEntity } from '../execution/persistence/worker-connection.entity.js';
import {
  ConversationEntity,
  RunDefinitionEntity,
  RunEntity,
  RunExecutionEntity,
  RunMessageEntity,
  RunTimelineEventEntity,
} from '../runs/persistence/run.entities.js';
import { RunAttachmentEntity, RunIdempotencyKeyEntity } from '../runs/persistence/run-creation.entities.js';
import { RunEventEntity } from '../runs/persistence/run-event.entities.js';
import { RunSearchEntity, RunWordEntity } from '../runs/persistence/run-search.entities.js';
import {
  AutomationEntity,
  AutomationScheduleEntity,
  AutomationSetEntity,
  AutomationWebhookEntity,
  FactoryAgentEntity,
} from '../automations/persistence/automation.entities.js';
import {
  WebhookBudgetEntity,
  WebhookDeliveryEntity,
  WebhookEvaluationQueueEntity,
  WebhookIdentityEntity,
} from '../webhooks/persistence/delivery.entities.js';
import {
  DeliveryEvaluationEntity,
  DeliveryOutcomeEntity,
  EvaluationPlanEntity,
} from '../webhooks/persistence/evaluation.entities.js';
import { FactoryEntity, WebhookEntity } from '../webhooks/persistence/webhook.entities.js';
import {
  CronTickEntity,
  CronTriggerEntity,
  ScheduleEntity,
} from '../schedules/persistence/schedule.entities.js';
import {
  EvaluationEntity,
  EvaluationScoreEntity,
  ScorerEntity,
} from '../scores/persistence/score.entities.js';
import { connectionBounds } from '../kernel/persistence/connection-bounds.js';
import { Identities1763683200001 } from './migrations/1763683200001-identities.js';
import { Runs1763683200002 } from './migrations/1763683200002-runs.js';
import { WorkerConnections1763683200003 } from './migrations/1763683200003-worker-connections.js';
import { AgentsAndPermissions1763683200004 } from './migrations/1763683200004-agents-and-permissions.js';
import { Catalog1763683200005 } from './migrations/1763683200005-catalog.js';
import { RunOrigins1763683200006 } from './migrations/1763683200006-run-origins.js';
import { RunSearch1763683200007 } from './migrations/1763683200007-run-search.js';
import { RunCreation1763683200009 } from './migrations/1763683200009-run-creation.js';
import { RunMessages1763683200010 } from './migrations/1763683200010-run-messages.js';
import { Webhooks1763683200011 } from './migrations/1763683200011-webhooks.js';
import { WebhookDeliveries1763683200012 } from './migrations/1763683200012-webhook-deliveries.js';
import { RunEvents1763683200013 } from './migrations/1763683200013-run-events.js';
import { Artifacts1763683200014 } from './migrations/1763683200014-artifacts.js';
import { Schedules1763683200015 } from './migrations/1763683200015-schedules.js';
import { Automations1763683200016 } from './migrations/1763683200016-automations.js';
import { Scores1763683200017 } from './migrations/1763683200017-scores.js';
import { RunUsage1763683200018 } from './migrations/1763683200018-run-usage.js';
import { Checkpoints1763683200019 } from './migrations/1763683200019-checkpoints.js';
import { ScorersOfFactories1763683200020 } from './migrations/1763683200020-scorers-of-factories.js';
import { RunSignatures1763683200021 } from './migrations/1763683200021-run-signatures.js';

const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * The connection pool, the entities and the migrations. The schema is made by the migrations alone.
 *
 * @param options.statementTimeoutMs 30 s unless told: a statement that takes this long is our mistake and is better cancelled; 0 = none
 */
export function createDataSource({
  url,
  poolSize = 10,
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
}: {
  url: string;
  poolSize?: number;
  statementTimeoutMs?: number;
}): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    applicationName: 'millwright',
    poolSize,
    extra: {
      ...connectionBounds(statementTimeoutMs),
      idle_in_transaction_session_timeout: statementTimeoutMs,
    },
    entities: [
      UserEntity,
      TeamEntity,
      MembershipEntity,
      AgentEntity,
      ApiKeyEntity,
      EnvironmentEntity,
      EnvironmentShareEntity,
      EnvironmentLinkVisitEntity,
      SecretEntity,
      ConversationEntity,
      RunEntity,
      RunDefinitionEntity,
      RunExecutionEntity,
      RunMessageEntity,
      RunTimelineEventEntity,
      RunEventEntity,
      RunSearchEntity,
      RunWordEntity,
      RunIdempotencyKeyEntity,
      RunAttachmentEntity,
      WorkerConnectionEntity,
      FactoryEntity,
      WebhookEntity,
      WebhookDeliveryEntity,
      WebhookIdentityEntity,
      WebhookBudgetEntity,
      WebhookEvaluationQueueEntity,
      EvaluationPlanEntity,
      DeliveryOutcomeEntity,
      DeliveryEvaluationEntity,
      AutomationEntity,
      AutomationWebhookEntity,
      AutomationScheduleEntity,
      AutomationSetEntity,
      FactoryAgentEntity,
      ScheduleEntity,
      CronTriggerEntity,
      CronTickEntity,
      ArtifactEntity,
      ArtifactPlanVersionEntity,
      ArtifactUploadEntity,
      SnapshotCheckpointEntity,
      SnapshotFileEntity,
      ObjectDeletionEntity,
      ScorerEntity,
      EvaluationEntity,
      EvaluationScoreEntity,
    ],
    migrations: [
      Identities1763683200001,
      Runs1763683200002,
      WorkerConnections1763683200003,
      AgentsAndPermissions1763683200004,
      Catalog1763683200005,
      RunOrigins1763683200006,
      RunSearch1763683200007,
      RunCreation1763683200009,
      RunMessages1763683200010,
      Webhooks1763683200011,
      WebhookDeliveries1763683200012,
      RunEvents1763683200013,
      Artifacts1763683200014,
      Schedules1763683200015,
      Automations1763683200016,
      Scores1763683200017,
      RunUsage1763683200018,
      Checkpoints1763683200019,
      ScorersOfFactories1763683200020,
      RunSignatures1763683200021,
    ],
    migrationsTransactionMode: 'each',
    synchronize: false,
    logging: false,
  });
}
