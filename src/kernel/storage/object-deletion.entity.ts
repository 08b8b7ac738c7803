import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An object that is to be deleted. Written in the transaction that removes the last row which names it, by a trigger of that table. */
@Entity('object_deletions')
@Index('object_deletions_due', ['dueAt'])
export class ObjectDeletionEntity {
  @PrimaryColumn('text', { name: 'object_key', primaryKeyConstraintName: 'object_deletions_pkey' })
  objectKey: string;

  @Column({ type: 'timestamptz', name: 'due_at', precision: 3, default: () => 'now()' })
  dueAt: Date;
}
