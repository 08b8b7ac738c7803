import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import type { EvaluationOutcome } from '../domain/delivery.js';
import { WebhookDeliveryEntity } from './delivery.entities.js';

/** What deliveries of one webhook were held against, as long as nobody changed an automation. */
@Entity('evaluation_plans')
@Index('evaluation_plans_webhook_revision', ['webhookUid', 'revision'], { unique: true })
export class EvaluationPlanEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'evaluation_plans_pkey' })
  id: string;

  @Column('uuid', { name: 'webhook_uid' })
  webhookUid: string;

  /** Of the factory's automations. */
  @Column('bigint')
  revision: string;

  /** The automations that selected the webhook. */
  @Column('uuid', { name: 'automation_uids', array: true })
  automationUids: string[];

  /** The paths at which their filters can fail, each once: an outcome is a number of this list. */
  @Column('text', { name: 'failed_paths', array: true })
  failedPaths: string[];

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** What became of a delivery, a number for each automation of the plan. */
@Entity('delivery_outcomes')
@Index('delivery_outcomes_plan', ['planId'])
export class DeliveryOutcomeEntity {
  @PrimaryColumn('uuid', { name: 'delivery_id', primaryKeyConstraintName: 'delivery_outcomes_pkey' })
  deliveryId: string;

  @ManyToOne(() => WebhookDeliveryEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'delivery_id', foreignKeyConstraintName: 'delivery_outcomes_delivery_id_fkey' })
  delivery?: Relation<WebhookDeliveryEntity>;

  @Column('uuid', { name: 'plan_id' })
  planId: string;

  @ManyToOne(() => EvaluationPlanEntity)
  @JoinColumn({ name: 'plan_id', foreignKeyConstraintName: 'delivery_outcomes_plan_id_fkey' })
  plan?: Relation<EvaluationPlanEntity>;

  /** The number of the path where the filter failed; below 0 see `evaluation.ts`. */
  @Column('smallint', { array: true })
  outcomes: number[];
}

/** A match: the run that a delivery starts for an automation, or what kept it from being started. */
@Entity('delivery_evaluations')
@Check('delivery_evaluations_outcome_check', `outcome IN ('matched', 'not_matched', 'error', 'pending')`)
@Index('delivery_evaluations_pending', ['webhookUid', 'availableAt'], { where: `outcome = 'pending'` })
export class DeliveryEvaluationEntity {
  @PrimaryColumn('uuid', { name: 'delivery_id', primaryKeyConstraintName: 'delivery_evaluations_pkey' })
  deliveryId: string;

  @ManyToOne(() => WebhookDeliveryEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'delivery_id', foreignKeyConstraintName: 'delivery_evaluations_delivery_id_fkey' })
  delivery?: Relation<WebhookDeliveryEntity>;

  @PrimaryColumn('uuid', { name: 'automation_uid', primaryKeyConstraintName: 'delivery_evaluations_pkey' })
  automationUid: string;

  /** The delivery's. */
  @Column('uuid', { name: 'webhook_uid' })
  webhookUid: string;

  /** `pending`: matched, and the run is about to be started. */
  @Column('text')
  outcome: EvaluationOutcome;

  @Column('uuid', { name: 'run_id', nullable: true })
  runId: string | null;

  @Column('text', { nullable: true })
  reason: string | null;

  /** While it is pending: when it may be claimed. */
  @Column({ type: 'timestamptz', name: 'available_at', precision: 3, default: () => 'now()' })
  availableAt: Date;

  /** How often it was claimed; the fence of whoever holds it. */
  @Column('integer', { default: 0 })
  attempts: number;
}
