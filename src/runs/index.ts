export { AgentConfigDto } from './api/agent-config.dto.js';
export { IsMetadata } from './api/is-metadata.js';
export {
  type ConfiguredRun,
  ConfigureRun,
  type ConfigureRunOutcome,
  DEFAULT_AGENT,
  type OrderFields,
  type RunOrder,
} from './application/configure-run.js';
export { CreateRun, type CreateRunOutcome, type NewRun } from './application/create-run.js';
export { GetRun } from './application/get-run.js';
export { ModelChoice } from './application/model-choice.js';
export { ENDED_WITHOUT_RESULT, type Outcome, RunLifecycle } from './application/run-lifecycle.js';
export {
  MAX_ATTACHMENT_BYTES,
  type NewAttachment,
  StoreAttachments,
} from './application/store-attachments.js';
export type { AgentConfig, HarnessType } from './domain/agent-config.js';
export { REPORTABLE_EVENT_TYPES, type ReportableEventType } from './domain/run-event.js';
export { RUN_MODES, type RunMode } from './domain/run-mode.js';
export type { RunSource } from './domain/run-source.js';
export { isTerminal, type RunState } from './domain/run-state.js';
export type { RunView } from './domain/run-view.js';
export { classifyFailure } from './domain/status-message.js';
export { AttachmentRepository, type StoredAttachment } from './persistence/attachment.repository.js';
export { ConversationRepository, type ConversationRow } from './persistence/conversation.repository.js';
export { type EndedRun, EndedRuns } from './persistence/ended-runs.js';
export { ExecutionQueries } from './persistence/execution-queries.js';
export type { AssignedRun, WorkerPool } from './persistence/run-queue.js';
export type { ExecutionRef } from './persistence/run-transitions.js';
export { RunEventLog } from './persistence/run-event-log.js';
export { RunMessageRepository, type WaitingMessage } from './persistence/run-message.repository.js';
export { type ExecutionFacts, type ParentRun, RunRepository } from './persistence/run.repository.js';
export { WaitingRuns } from './persistence/waiting-runs.js';
export { RunsModule } from './runs.module.js';
