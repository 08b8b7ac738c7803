import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryGeneratedColumn, type Relation } from 'typeorm';
import type { RunEventType } from '../domain/run-event.js';
import { RunEntity } from './run.entities.js';

/** Something that followers of a run learn. Written with what it tells of, numbered once that has been committed. */
@Entity('run_events')
@Index('run_events_unnumbered', ['id'], { where: 'sequence IS NULL' })
@Index('run_events_sequence', ['sequence'], { unique: true, where: 'sequence IS NOT NULL' })
@Index('run_events_run', ['runId', 'sequence'])
@Index('run_events_tree', ['rootRunId', 'sequence'], { where: 'sequence IS NOT NULL' })
export class RunEventEntity {
  /** The order of writing, which for one run is the order of happening. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'run_events_pkey',
  })
  id: string;

  /** Its place in the order of all events; null until it is numbered, and nobody is shown it before. */
  @Column('bigint', { nullable: true })
  sequence: string | null;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_events_run_id_fkey' })
  run?: Relation<RunEntity>;

  /** The topmost ancestor of the run, or the run itself. */
  @Column('uuid', { name: 'root_run_id' })
  rootRunId: string;

  @Column('bigint', { name: 'execution_id', nullable: true })
  executionId: string | null;

  @Column('text', { name: 'event_type' })
  eventType: RunEventType;

  /** What it is about besides the run: of `new_message` the message. */
  @Column('text', { name: 'ref_id', nullable: true })
  refId: string | null;

  @Column({ type: 'timestamptz', name: 'occurred_at', precision: 3, default: () => 'clock_timestamp()' })
  occurredAt: Date;
}
