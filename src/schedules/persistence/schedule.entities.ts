import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import type { AgentConfig, RunMode } from '../../runs/index.js';
import type { TickOutcome } from '../domain/tick.js';

/** A scheduled agent: what its runs are made of. When they are due its trigger, of the same id, knows. */
@Entity('schedules')
@Check('schedules_one_scope', `num_nonnulls(team_uid, owner_uid) = 1`)
@Check('schedules_mode_check', `mode IN ('normal', 'plan', 'orchestrate')`)
@Index('schedules_team', ['teamUid'], { where: 'team_uid IS NOT NULL' })
@Index('schedules_owner', ['ownerUid'], { where: 'owner_uid IS NOT NULL' })
export class ScheduleEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'schedules_pkey' })
  id: string;

  @Column('uuid', { name: 'team_uid', nullable: true })
  teamUid: string | null;

  @Column('uuid', { name: 'owner_uid', nullable: true })
  ownerUid: string | null;

  @Column('text')
  name: string;

  /** May be empty where there is a skill. */
  @Column('text')
  prompt: string;

  @Column('text', { default: 'normal' })
  mode: RunMode;

  /** The agent identity that executes its runs; null = the team's default agent, or the person who owns it. */
  @Column('uuid', { name: 'agent_uid', nullable: true })
  agentUid: string | null;

  /** As it was given. */
  @Column('jsonb', { name: 'agent_config', nullable: true })
  agentConfig: AgentConfig | null;

  /** `owner/repo:path/SKILL.md`, in whatever form the configuration names it. */
  @Column('text', { name: 'skill_spec', nullable: true })
  skillSpec: string | null;

  @Column('jsonb', { default: {} })
  metadata: Record<string, string>;

  @Column('uuid', { name: 'created_by' })
  createdBy: string;

  @Column('uuid', { name: 'updated_by' })
  updatedBy: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;
}

/** Something that is due by cron: a schedule, or what another context keeps here. */
@Entity('cron_triggers')
@Index('cron_triggers_due', ['nextTickAt'], { where: 'next_tick_at IS NOT NULL' })
@Index('cron_triggers_reckoned', ['reckonedAt'], { where: 'next_tick_at IS NOT NULL' })
export class CronTriggerEntity {
  /** Chosen by whoever keeps it. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'cron_triggers_pkey' })
  id: string;

  /** Who makes its runs. */
  @Column('text')
  kind: string;

  @Column('text')
  cron: string;

  @Column('text')
  timezone: string;

  /** What `@every` counts from. */
  @Column({ type: 'timestamptz', name: 'anchor_at', precision: 3 })
  anchorAt: Date;

  @Column('integer', { name: 'catch_up_minutes' })
  catchUpMinutes: number;

  @Column('boolean')
  enabled: boolean;

  /** Null: paused, or never again. */
  @Column({ type: 'timestamptz', name: 'next_tick_at', precision: 3, nullable: true })
  nextTickAt: Date | null;

  /** What the clock showed when the next tick was reckoned. */
  @Column({ type: 'timestamptz', name: 'reckoned_at', precision: 3 })
  reckonedAt: Date;

  /** When its last run was created. */
  @Column({ type: 'timestamptz', name: 'last_ran_at', precision: 3, nullable: true })
  lastRanAt: Date | null;

  /** Why the last tick made no run; null when it made one. */
  @Column('text', { name: 'last_error', nullable: true })
  lastError: string | null;
}

/** A tick that has come, and what became of it. Its row is the lock: of all that want to fire it one writes it. */
@Entity('cron_ticks')
@Check('cron_ticks_outcome_check', `outcome IN ('fired', 'missed', 'failed')`)
export class CronTickEntity {
  @PrimaryColumn('uuid', { name: 'trigger_id', primaryKeyConstraintName: 'cron_ticks_pkey' })
  triggerId: string;

  @ManyToOne(() => CronTriggerEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'trigger_id', foreignKeyConstraintName: 'cron_ticks_trigger_id_fkey' })
  trigger?: Relation<CronTriggerEntity>;

  @PrimaryColumn({
    type: 'timestamptz',
    name: 'tick_at',
    precision: 3,
    primaryKeyConstraintName: 'cron_ticks_pkey',
  })
  tickAt: Date;

  @Column('text')
  outcome: TickOutcome;

  @Column('uuid', { name: 'run_id', nullable: true })
  runId: string | null;

  /** Why it made no run. */
  @Column('text', { nullable: true })
  reason: string | null;

  @Column({ type: 'timestamptz', name: 'decided_at', precision: 3 })
  decidedAt: Date;
}
