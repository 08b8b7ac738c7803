import {
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
} from 'typeorm';
import type { Harness } from '../../identities/index.js';
import type { Label } from '../domain/scorer.js';

/** What a team grades the runs of its agents by. */
@Entity('scorers')
@Index('scorers_name_of_team', ['teamUid', 'name'], { unique: true, where: 'factory_uid IS NULL' })
@Index('scorers_name_of_factory', ['factoryUid', 'name'], {
  unique: true,
  where: 'factory_uid IS NOT NULL',
})
@Index('scorers_team', ['teamUid', 'name', 'id'])
export class ScorerEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'scorers_pkey',
  })
  id: number;

  @Column('uuid', { name: 'team_uid' })
  teamUid: string;

  /** The factory whose definition it is from; null: it was made by the API. */
  @Column('uuid', { name: 'factory_uid', nullable: true })
  factoryUid: string | null;

  // By the table's name: the entity belongs to another context.
  @ManyToOne('factories', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'factory_uid', foreignKeyConstraintName: 'scorers_factory_uid_fkey' })
  factory?: object;

  @Column('text')
  name: string;

  @Column('text')
  rubric: string;

  @Column('uuid', { name: 'agent_uids', array: true })
  agentUids: string[];

  @Column('jsonb')
  labels: Label[];

  @Column('double precision', { name: 'passing_score' })
  passingScore: number;

  @Column('double precision', { name: 'sampling_rate' })
  samplingRate: number;

  /** Of the judge; null: the system's default. */
  @Column('text', { name: 'model_id', nullable: true })
  modelId: string | null;

  @Column('jsonb', { nullable: true })
  harness: Harness | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;
}

/** A run that is to be graded by one judge, and the judge's run once it is dispatched. */
@Entity('evaluations')
@Index('evaluations_judge', ['judgeRunId'], { unique: true, where: 'judge_run_id IS NOT NULL' })
@Index('evaluations_waiting', ['dispatchAt', 'id'], { where: 'judge_run_id IS NULL AND problem IS NULL' })
export class EvaluationEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'evaluations_pkey' })
  id: string;

  @Column('uuid', { name: 'team_uid' })
  teamUid: string;

  /** The run that is graded. */
  @Column('uuid', { name: 'run_id' })
  runId: string;

  /** Whoever asked for it by hand; null: it was sampled. */
  @Column('uuid', { name: 'requested_by', nullable: true })
  requestedBy: string | null;

  /** Of the judge. */
  @Column('text', { name: 'model_id', nullable: true })
  modelId: string | null;

  @Column('jsonb')
  harness: Harness;

  @Column('uuid', { name: 'judge_run_id', nullable: true })
  judgeRunId: string | null;

  /** Not dispatched before this moment: it rests after an attempt that failed. */
  @Column({ type: 'timestamptz', name: 'dispatch_at', precision: 3, default: () => 'now()' })
  dispatchAt: Date;

  /** Why it can never be dispatched. */
  @Column('text', { nullable: true })
  problem: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** One scorer's part in an evaluation: what it was when that was captured, and the judge's verdict. */
@Entity('evaluation_scores')
@Index('evaluation_scores_sampled_once', ['runId', 'scorerId'], { unique: true, where: 'sampled' })
@Index('evaluation_scores_run', ['runId', 'createdAt', 'evaluationId', 'scorerId'])
@Index('evaluation_scores_results', ['scorerId', 'createdAt', 'evaluationId'], {
  where: 'reported_at IS NOT NULL',
})
@Index('evaluation_scores_results_agent_uid', ['scorerId', 'agentUid', 'createdAt', 'evaluationId'], {
  where: 'reported_at IS NOT NULL',
})
@Index('evaluation_scores_results_model_id', ['scorerId', 'modelId', 'createdAt', 'evaluationId'], {
  where: 'reported_at IS NOT NULL',
})
@Index('evaluation_scores_results_skill_spec', ['scorerId', 'skillSpec', 'createdAt', 'evaluationId'], {
  where: 'reported_at IS NOT NULL',
})
export class EvaluationScoreEntity {
  @PrimaryColumn('uuid', { name: 'evaluation_id', primaryKeyConstraintName: 'evaluation_scores_pkey' })
  evaluationId: string;

  @ManyToOne(() => EvaluationEntity, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'evaluation_id',
    foreignKeyConstraintName: 'evaluation_scores_evaluation_id_fkey',
  })
  evaluation?: Relation<EvaluationEntity>;

  /** Of a scorer that may have been deleted since. */
  @PrimaryColumn('integer', { name: 'scorer_id', primaryKeyConstraintName: 'evaluation_scores_pkey' })
  scorerId: number;

  @Column('text', { name: 'scorer_name' })
  scorerName: string;

  @Column('text')
  rubric: string;

  @Column('jsonb')
  labels: Label[];

  @Column('double precision', { name: 'passing_score' })
  passingScore: number;

  /** The run that is graded, and what lists of results are filtered by. */
  @Column('uuid', { name: 'run_id' })
  runId: string;

  @Column('boolean')
  sampled: boolean;

  /** Whoever executed the run. */
  @Column('uuid', { name: 'agent_uid' })
  agentUid: string;

  @Column('text', { name: 'model_id', nullable: true })
  modelId: string | null;

  @Column('text', { name: 'skill_spec', nullable: true })
  skillSpec: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  /** When the judge last gave its verdict. */
  @Column({ type: 'timestamptz', name: 'reported_at', precision: 3, nullable: true })
  reportedAt: Date | null;

  /** The judge could not grade. */
  @Column('boolean', { default: false })
  failed: boolean;

  @Column('text', { nullable: true })
  classification: string | null;

  @Column('double precision', { nullable: true })
  score: number | null;

  @Column('boolean', { nullable: true })
  passed: boolean | null;

  @Column('text', { nullable: true })
  reason: string | null;
}
