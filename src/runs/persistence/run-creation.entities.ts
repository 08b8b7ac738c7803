import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import { RunEntity } from './run.entities.js';

/** The header `Idempotency-Key` of a request that created a run, for as long as it is honoured. */
@Entity('run_idempotency_keys')
@Index('run_idempotency_keys_expiry', ['expiresAt'])
@Index('run_idempotency_keys_run', ['runId'])
export class RunIdempotencyKeyEntity {
  /** That of the run. */
  @PrimaryColumn('text', { name: 'origin_key', primaryKeyConstraintName: 'run_idempotency_keys_pkey' })
  originKey: string;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_idempotency_keys_run_id_fkey' })
  run?: Relation<RunEntity>;

  /** SHA-256 of what was asked for. */
  @Column('bytea', { name: 'request_hash' })
  requestHash: Buffer;

  /** As the first answer said. */
  @Column('boolean', { name: 'at_capacity' })
  atCapacity: boolean;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  expiresAt: Date;
}

/** A file that a run was given; ids sort in the order in which the files were. */
@Entity('run_attachments')
@Index('run_attachments_run', ['runId', 'id'])
@Index('run_attachments_object_key', ['objectKey'])
export class RunAttachmentEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'run_attachments_pkey' })
  id: string;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_attachments_run_id_fkey' })
  run?: Relation<RunEntity>;

  @Column('text', { name: 'file_name' })
  fileName: string;

  @Column('text', { name: 'mime_type' })
  mimeType: string;

  /** Null of one whose bytes its giver puts there themselves, and perhaps has not yet. */
  @Column('integer', { name: 'size_bytes', nullable: true })
  sizeBytes: number | null;

  @Column('text', { name: 'object_key' })
  objectKey: string;
}
