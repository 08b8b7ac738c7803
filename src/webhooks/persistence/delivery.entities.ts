import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeliveryStatus, IdentityKind } from '../domain/delivery.js';

/** The log: one row for each delivery that reached a known, enabled webhook. */
@Entity('webhook_deliveries')
@Check(
  'webhook_deliveries_status_check',
  `status IN ('accepted', 'duplicate', 'rejected_auth', 'rejected_invalid_json', 'rejected_too_large')`,
)
@Check(
  'webhook_deliveries_identity_kind_check',
  `identity_kind IN ('header', 'provider', 'service', 'body_hash')`,
)
@Check('webhook_deliveries_payload_of_accepted', `(status = 'accepted') = (payload IS NOT NULL)`)
// One status newest first is a range of it, and all of them a merge of five.
@Index('webhook_deliveries_log', ['webhookUid', 'status', 'receivedAt', 'id'])
export class WebhookDeliveryEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_deliveries_pkey' })
  id: string;

  @Column('uuid', { name: 'webhook_uid' })
  webhookUid: string;

  @Column('text')
  status: DeliveryStatus;

  /** The delivery that was accepted with this identity. */
  @Column('uuid', { name: 'duplicate_of', nullable: true })
  duplicateOf: string | null;

  @Column('text', { name: 'identity_kind', nullable: true })
  identityKind: IdentityKind | null;

  /** A header's or field's value; the SHA-256 of the body in hexadecimal digits for `body_hash`. */
  @Column('text', { name: 'identity_value', nullable: true })
  identityValue: string | null;

  /** Of the body as far as it was read. */
  @Column('integer', { name: 'size_bytes' })
  sizeBytes: number;

  @Column({ type: 'timestamptz', name: 'received_at', precision: 3 })
  receivedAt: Date;

  /** Those of the allow-list. */
  @Column('jsonb')
  headers: Record<string, string>;

  /** The exact bytes of an accepted delivery: jsonb would change or refuse some. */
  @Column('bytea', { nullable: true })
  payload: Buffer | null;
}

/** The identities that were accepted, for as long as their webhook lives. Narrow: there are many millions. */
@Entity('webhook_identities')
export class WebhookIdentityEntity {
  @PrimaryColumn('uuid', { name: 'webhook_uid', primaryKeyConstraintName: 'webhook_identities_pkey' })
  webhookUid: string;

  /** The first 128 bits of a SHA-256 over kind and value, in the narrowest type that holds them. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_identities_pkey' })
  fingerprint: string;

  /** The delivery that was accepted. Its row in the log may be gone. */
  @Column('uuid', { name: 'delivery_id' })
  deliveryId: string;
}

/** When a budget was spent in the last minute: of a webhook's deliveries, or of the failures of one client there. */
@Entity('webhook_budgets')
export class WebhookBudgetEntity {
  /** The webhook's uid, or 128 bits of a SHA-256 over the webhook and the client's address. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_budgets_pkey' })
  key: string;

  /** Oldest first. */
  @Column('timestamptz', { name: 'spent_at', array: true })
  spentAt: Date[];

  /** How much of what the latest statement asked for it was given. */
  @Column('integer')
  granted: number;
}

/** Accepted deliveries that wait to be evaluated: claimed with SKIP LOCKED, deleted when done. */
@Entity('webhook_evaluation_queue')
export class WebhookEvaluationQueueEntity {
  @PrimaryColumn('uuid', { name: 'webhook_uid', primaryKeyConstraintName: 'webhook_evaluation_queue_pkey' })
  webhookUid: string;

  /** Version 7: sorts by arrival. */
  @PrimaryColumn('uuid', { name: 'delivery_id', primaryKeyConstraintName: 'webhook_evaluation_queue_pkey' })
  deliveryId: string;

  @Column({ type: 'timestamptz', name: 'available_at', precision: 3 })
  availableAt: Date;

  @Column('integer', { default: 0 })
  attempts: number;
}
