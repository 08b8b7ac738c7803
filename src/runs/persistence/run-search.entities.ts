import { Column, Entity, Index, JoinColumn, OneToOne, PrimaryColumn, type Relation } from 'typeorm';
import { RunEntity } from './run.entities.js';

/**
 * What lists find runs by: all that does not change. State changes leave this row alone, and with it the indexes that are costly to
 * write.
 */
@Entity('run_search')
// TypeORM cannot describe GIN indexes, nor such that include a column; the migrations make them.
@Index('run_search_created', { synchronize: false })
@Index('run_search_title', { synchronize: false })
@Index('run_search_agent', { synchronize: false })
@Index('run_search_tokens', { synchronize: false })
export class RunSearchEntity {
  @PrimaryColumn('uuid', { name: 'run_id', primaryKeyConstraintName: 'run_search_pkey' })
  runId: string;

  @OneToOne(() => RunEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'run_search_run_id_fkey' })
  run?: Relation<RunEntity>;

  /** The team or the person that owns the run. */
  @Column('uuid', { name: 'scope_uid' })
  scopeUid: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3 })
  createdAt: Date;

  /** The beginning of the title. */
  @Column({ type: 'text', collation: 'C' })
  title: string;

  /** The skill; empty for a run without one. */
  @Column({ type: 'text', collation: 'C' })
  agent: string;

  /** Tokens such as `source:API`. */
  @Column({ type: 'text', array: true, collation: 'C' })
  facets: string[];

  /** Of title, prompt and skill. */
  @Column({ type: 'text', array: true, collation: 'C' })
  words: string[];

  /** See `signatureOf`: of facets and words, but for the facets of artifacts. */
  @Column({ type: 'bytea' })
  signature: Buffer;
}

/** The words of the runs of a team or a person: what a misspelt or unfinished word may mean. */
@Entity('run_words')
// A trigram index, which TypeORM cannot describe; the migration makes it.
@Index('run_words_similar', { synchronize: false })
export class RunWordEntity {
  @PrimaryColumn('uuid', { name: 'scope_uid', primaryKeyConstraintName: 'run_words_pkey' })
  scopeUid: string;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'run_words_pkey' })
  word: string;
}
