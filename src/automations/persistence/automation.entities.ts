import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import type { AgentConfig } from '../../runs/index.js';
import type { Trigger } from '../domain/automation.js';

/** What starts runs for events elsewhere. */
@Entity('automations')
// An index over an expression, which TypeORM cannot describe; the migration makes it.
@Index('automations_factory_name', { synchronize: false })
export class AutomationEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'automations_pkey' })
  uid: string;

  @Column('uuid', { name: 'factory_uid' })
  factoryUid: string;

  // By the table's name: the entity belongs to another context.
  @ManyToOne('factories', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'factory_uid', foreignKeyConstraintName: 'automations_factory_uid_fkey' })
  factory?: object;

  @Column('text')
  name: string;

  @Column('boolean')
  enabled: boolean;

  /** The agent identity that executes its runs, which may have been deleted since; null = the team's default agent. */
  @Column('uuid', { name: 'agent_uid', nullable: true })
  agentUid: string | null;

  @Column('text')
  prompt: string;

  @Column('jsonb')
  triggers: Trigger[];

  @Column('jsonb', { nullable: true })
  config: AgentConfig | null;

  /** In whose name its runs are created. */
  @Column('uuid', { name: 'last_editor_uid' })
  lastEditorUid: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;
}

/** Which automations select a webhook, taken from their triggers. */
@Entity('automation_webhooks')
@Index('automation_webhooks_automation', ['automationUid'])
export class AutomationWebhookEntity {
  /** It may have been deleted since. */
  @PrimaryColumn('uuid', { name: 'webhook_uid', primaryKeyConstraintName: 'automation_webhooks_pkey' })
  webhookUid: string;

  @PrimaryColumn('uuid', { name: 'automation_uid', primaryKeyConstraintName: 'automation_webhooks_pkey' })
  automationUid: string;

  @ManyToOne(() => AutomationEntity, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'automation_uid',
    foreignKeyConstraintName: 'automation_webhooks_automation_uid_fkey',
  })
  automation?: Relation<AutomationEntity>;
}

/** The cron triggers of automations, taken from their triggers. */
@Entity('automation_schedules')
@Index('automation_schedules_automation', ['automationUid'])
export class AutomationScheduleEntity {
  @PrimaryColumn('uuid', { name: 'trigger_id', primaryKeyConstraintName: 'automation_schedules_pkey' })
  triggerId: string;

  @Column('uuid', { name: 'automation_uid' })
  automationUid: string;

  @ManyToOne(() => AutomationEntity, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'automation_uid',
    foreignKeyConstraintName: 'automation_schedules_automation_uid_fkey',
  })
  automation?: Relation<AutomationEntity>;

  @Column('text')
  cron: string;

  @Column('text', { nullable: true })
  name: string | null;
}

/** The automations of a factory as a whole. */
@Entity('automation_sets')
export class AutomationSetEntity {
  @PrimaryColumn('uuid', { name: 'factory_uid', primaryKeyConstraintName: 'automation_sets_pkey' })
  factoryUid: string;

  @ManyToOne('factories', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'factory_uid', foreignKeyConstraintName: 'automation_sets_factory_uid_fkey' })
  factory?: object;

  /** Raised by every change of one of them: by it replicas know what they have compiled. */
  @Column('bigint')
  revision: string;
}

/** The agent identities that a factory's definition has made, by the names of their files. */
@Entity('factory_agents')
@Index('factory_agents_agent', ['agentUid'])
export class FactoryAgentEntity {
  @PrimaryColumn('uuid', { name: 'factory_uid', primaryKeyConstraintName: 'factory_agents_pkey' })
  factoryUid: string;

  @ManyToOne('factories', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'factory_uid', foreignKeyConstraintName: 'factory_agents_factory_uid_fkey' })
  factory?: object;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'factory_agents_pkey' })
  name: string;

  @Column('uuid', { name: 'agent_uid' })
  agentUid: string;

  @ManyToOne('agents', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'agent_uid', foreignKeyConstraintName: 'factory_agents_agent_uid_fkey' })
  agent?: object;
}
