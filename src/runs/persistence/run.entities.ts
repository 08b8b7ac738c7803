import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm';
import type { AgentConfig } from '../domain/agent-config.js';
import type { AgentSkill } from '../domain/agent-skill.js';
import type { RunSource } from '../domain/run-source.js';
import type { RunState } from '../domain/run-state.js';
import type { StatusMessage } from '../domain/status-message.js';

/** The messages of an agent's session; several runs may continue one conversation. */
@Entity('conversations')
@Index('conversations_transcript_key', ['transcriptKey'])
@Index('conversations_normalised_key', ['normalisedKey'])
@Index('conversations_block_snapshot_key', ['blockSnapshotKey'])
export class ConversationEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'conversations_pkey' })
  id: string;

  /** Format of the raw transcript. */
  @Column('text')
  format: string;

  /** Object key of the raw transcript. */
  @Column('text', { name: 'transcript_key', nullable: true })
  transcriptKey: string | null;

  /** Object key of the steps derived from it once the execution had ended. */
  @Column('text', { name: 'normalised_key', nullable: true })
  normalisedKey: string | null;

  /** Object key of what the agent's terminal showed. */
  @Column('text', { name: 'block_snapshot_key', nullable: true })
  blockSnapshotKey: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** What a list shows of a run, and what transitions write. */
@Entity('runs')
@Check(
  'runs_state_check',
  `state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'SUCCEEDED', 'FAILED', 'BLOCKED', 'ERROR', 'CANCELLED')`,
)
@Check('runs_mode_check', `mode IN ('normal', 'plan', 'orchestrate')`)
@Index('runs_origin_key', ['originKey'], { unique: true, where: 'origin_key IS NOT NULL' })
@Index('runs_parent', ['parentRunId'], { where: 'parent_run_id IS NOT NULL' })
@Check('runs_one_scope', `num_nonnulls(team_uid, owner_uid) = 1`)
// Indexes over expressions, which TypeORM cannot describe; the migrations make them.
@Index('runs_queue', { synchronize: false })
@Index('runs_team_state_title', { synchronize: false })
@Index('runs_owner_state_title', { synchronize: false })
@Index('runs_team_updated', ['teamUid', 'updatedAt', 'id'], { where: 'team_uid IS NOT NULL' })
@Index('runs_owner_updated', ['ownerUid', 'updatedAt', 'id'], { where: 'owner_uid IS NOT NULL' })
@Index('runs_team_state', ['teamUid', 'state', 'updatedAt', 'id'], { where: 'team_uid IS NOT NULL' })
@Index('runs_owner_state', ['ownerUid', 'state', 'updatedAt', 'id'], { where: 'owner_uid IS NOT NULL' })
@Index('runs_team_long_lived', ['teamUid', 'updatedAt', 'id', 'createdAt'], {
  where: `team_uid IS NOT NULL AND updated_at - created_at > interval '01:00:00'`,
})
@Index('runs_owner_long_lived', ['ownerUid', 'updatedAt', 'id', 'createdAt'], {
  where: `owner_uid IS NOT NULL AND updated_at - created_at > interval '01:00:00'`,
})
@Index('runs_environment', ['environmentId', 'createdAt', 'id'], { where: 'environment_id IS NOT NULL' })
@Index('runs_skill', ['skillSpec', 'createdAt', 'id'], { where: 'skill_spec IS NOT NULL' })
@Index('runs_conversation', ['conversationId'], { where: 'conversation_id IS NOT NULL' })
@Index('runs_live_state', ['state'], { where: `state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS')` })
@Index('runs_one_live_of_conversation', ['conversationId'], {
  unique: true,
  where: `conversation_id IS NOT NULL AND state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS')`,
})
export class RunEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'runs_pkey' })
  id: string;

  @Column('text')
  title: string;

  @Column('text')
  state: RunState;

  /** Why it waits, or why it ended as it did. */
  @Column('jsonb', { name: 'status_message', nullable: true })
  statusMessage: StatusMessage | null;

  /** Set when a team owns it; otherwise `ownerUid` is. */
  @Column('uuid', { name: 'team_uid', nullable: true })
  teamUid: string | null;

  @Column('uuid', { name: 'owner_uid', nullable: true })
  ownerUid: string | null;

  @Column('uuid', { name: 'creator_uid' })
  creatorUid: string;

  @Column('uuid', { name: 'executor_uid' })
  executorUid: string;

  @Column('text')
  source: RunSource;

  /** The self-hosted worker that is to run it; null for the hosted pool. */
  @Column('text', { name: 'worker_host', nullable: true })
  workerHost: string | null;

  @Column('text', { name: 'environment_id', nullable: true })
  environmentId: string | null;

  @Column('text', { name: 'skill_spec', nullable: true })
  skillSpec: string | null;

  /** The name in its configuration. */
  @Column('text', { name: 'config_name', nullable: true })
  configName: string | null;

  @Column('text', { name: 'model_id', nullable: true })
  modelId: string | null;

  @Column('text', { default: 'normal' })
  mode: 'normal' | 'plan' | 'orchestrate';

  /** A person follows it and will answer. */
  @Column('boolean', { default: false })
  interactive: boolean;

  /** The scheduled agent that started it. */
  @Column('uuid', { name: 'schedule_id', nullable: true })
  scheduleId: string | null;

  @Column('uuid', { name: 'parent_run_id', nullable: true })
  parentRunId: string | null;

  /** Its parent, the parent's parent and so on. */
  @Column('uuid', { name: 'ancestor_ids', array: true, default: [] })
  ancestorIds: string[];

  /** What it was created for, where that may create one run only. */
  @Column('text', { name: 'origin_key', nullable: true })
  originKey: string | null;

  /** The live execution, or the last one. */
  @Column('bigint', { name: 'execution_id', nullable: true })
  executionId: string | null;

  @Column('uuid', { name: 'conversation_id', nullable: true })
  conversationId: string | null;

  @ManyToOne(() => ConversationEntity)
  @JoinColumn({ name: 'conversation_id', foreignKeyConstraintName: 'runs_conversation_id_fkey' })
  conversation?: Relation<ConversationEntity>;

  @Column('jsonb', { default: {} })
  metadata: Record<string, string>;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;

  /** When its first execution started. */
  @Column({ type: 'timestamptz', name: 'started_at', precision: 3, nullable: true })
  startedAt: Date | null;

  /** Not assigned before this moment; the order of the queue. `infinity`: never, its creator executes it. */
  @Column({ type: 'timestamptz', name: 'available_at', precision: 3, default: () => 'now()' })
  availableAt: Date;

  /** How far its agent has read the events that it follows. */
  @Column('bigint', { name: 'last_event_sequence', nullable: true })
  lastEventSequence: string | null;
}

/** What was asked for: long, and never rewritten. */
@Entity('run_definitions')
export class RunDefinitionEntity {
  @PrimaryColumn('uuid', { name: 'run_id', primaryKeyConstraintName: 'run_definitions_pkey' })
  runId: string;

  @OneToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_definitions_run_id_fkey' })
  run?: Relation<RunEntity>;

  @Column('text')
  prompt: string;

  /** The resolved configuration. */
  @Column('jsonb', { name: 'agent_config' })
  agentConfig: AgentConfig;

  /** The name of the schedule that started it, as it was then. */
  @Column('text', { name: 'schedule_name', nullable: true })
  scheduleName: string | null;

  @Column('text', { name: 'cron_schedule', nullable: true })
  cronSchedule: string | null;
  /** The skill that it was created from, as it was then. */
  @Column('jsonb', { name: 'agent_skill', nullable: true })
  agentSkill: AgentSkill | null;
}

/** One launch of a run on a worker. Its id is the fence: a report that names another execution than the run's changes nothing. */
@Entity('run_executions')
@Index('run_executions_one_live', ['runId'], { unique: true, where: 'ended_at IS NULL' })
@Index('run_executions_run', ['runId', 'id'])
@Index('run_executions_live_connection', ['connectionId'], { where: 'ended_at IS NULL' })
@Index('run_executions_retained', ['sessionRetainedUntil'], {
  where: 'ended_at IS NULL AND session_retained_until IS NOT NULL',
})
@Index('run_executions_unhandled_end', ['id'], { where: 'ended_at IS NOT NULL AND end_handled_at IS NULL' })
export class RunExecutionEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'run_executions_pkey',
  })
  id: string;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_executions_run_id_fkey' })
  run?: Relation<RunEntity>;

  /** Null, like the connection, when the run's creator executes it. */
  @Column('text', { name: 'worker_id', nullable: true })
  workerId: string | null;

  @Column('uuid', { name: 'connection_id', nullable: true })
  connectionId: string | null;

  @Column({ type: 'timestamptz', name: 'assigned_at', precision: 3, default: () => 'now()' })
  assignedAt: Date;

  @Column({ type: 'timestamptz', name: 'claim_deadline_at', precision: 3 })
  claimDeadlineAt: Date;

  @Column({ type: 'timestamptz', name: 'claimed_at', precision: 3, nullable: true })
  claimedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'lease_expires_at', precision: 3, nullable: true })
  leaseExpiresAt: Date | null;

  @Column({ type: 'timestamptz', name: 'started_at', precision: 3, nullable: true })
  startedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'stop_requested_at', precision: 3, nullable: true })
  stopRequestedAt: Date | null;

  /** When its agent was first given its prompt: the messages delivered up to then are part of that. */
  @Column({ type: 'timestamptz', name: 'prompt_resolved_at', precision: 3, nullable: true })
  promptResolvedAt: Date | null;

  /** When its set-up had failed and it kept its session for debugging. */
  @Column({ type: 'timestamptz', name: 'session_retained_at', precision: 3, nullable: true })
  sessionRetainedAt: Date | null;

  /** Until when it keeps that session. */
  @Column({ type: 'timestamptz', name: 'session_retained_until', precision: 3, nullable: true })
  sessionRetainedUntil: Date | null;

  @Column({ type: 'timestamptz', name: 'ended_at', precision: 3, nullable: true })
  endedAt: Date | null;

  @Column('text', { name: 'end_reason', nullable: true })
  endReason: string | null;

  /** When its end was taken note of by those who act on ended runs. */
  @Column({ type: 'timestamptz', name: 'end_handled_at', precision: 3, nullable: true })
  endHandledAt: Date | null;

  /** What its agent has used of models, as it said last; null where it says nothing. */
  @Column('bigint', { name: 'total_tokens', nullable: true })
  totalTokens: string | null;

  @Column('numeric', { name: 'inference_cost_usd', precision: 14, scale: 6, nullable: true })
  inferenceCostUsd: string | null;
}

/** A follow-up, or a message of another run of the same tree. The prompt of its run stays as it was. */
@Entity('run_messages')
@Index('run_messages_id', ['id'], { unique: true })
@Check('run_messages_mode_check', `mode IN ('normal', 'plan', 'orchestrate')`)
@Index('run_messages_undelivered', ['runId'], { where: 'delivered_execution_id IS NULL' })
export class RunMessageEntity {
  @PrimaryColumn('uuid', { name: 'run_id', primaryKeyConstraintName: 'run_messages_pkey' })
  runId: string;

  @ManyToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_messages_run_id_fkey' })
  run?: Relation<RunEntity>;

  /** Its place among the messages of its run, from 1. */
  @PrimaryColumn('integer', { primaryKeyConstraintName: 'run_messages_pkey' })
  sequence: number;

  /** Its name in the API and in events. */
  @Column('uuid')
  id: string;

  /** What it is about; null where its sender did not say. */
  @Column('text', { nullable: true })
  subject: string | null;

  /** The run whose agent sent it; null: `authorUid` did so itself. */
  @Column('uuid', { name: 'sender_run_id', nullable: true })
  senderRunId: string | null;

  /** Empty: the agent is to go on where it stopped. */
  @Column('text')
  message: string;

  /** Null: that of the run. */
  @Column('text', { nullable: true })
  mode: 'normal' | 'plan' | 'orchestrate' | null;

  @Column('uuid', { name: 'author_uid' })
  authorUid: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  /** The execution whose agent got it; null while it waits for one. */
  @Column('bigint', { name: 'delivered_execution_id', nullable: true })
  deliveredExecutionId: string | null;

  @Column({ type: 'timestamptz', name: 'delivered_at', precision: 3, nullable: true })
  deliveredAt: Date | null;

  /** When its agent asked for its text. */
  @Column({ type: 'timestamptz', name: 'read_at', precision: 3, nullable: true })
  readAt: Date | null;
}

/** One entry of a run's timeline; `sequence` orders those of all runs. */
@Entity('run_timeline_events')
@Index('run_timeline_events_uuid', ['runId', 'eventUuid'], { unique: true })
@Index('run_timeline_events_run', ['runId', 'sequence'])
export class RunTimelineEventEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'run_timeline_events_pkey',
  })
  sequence: string;

  /** Chosen by whoever reports the event, so that a report can be repeated. */
  @Column('uuid', { name: 'event_uuid' })
  eventUuid: string;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_timeline_events_run_id_fkey' })
  run?: Relation<RunEntity>;

  @Column('bigint', { name: 'execution_id', nullable: true })
  executionId: string | null;

  @Column('text', { name: 'event_type' })
  eventType: string;

  @Column({ type: 'timestamptz', name: 'occurred_at', precision: 3, default: () => 'now()' })
  occurredAt: Date;

  @Column('jsonb', { nullable: true })
  payload: Record<string, unknown> | null;
}
