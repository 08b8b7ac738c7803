import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import type { ArtifactType } from '../domain/artifact.js';

/** What a run left behind. This context does not import runs, so the foreign keys name its entity in words. */
@Entity('artifacts')
@Check(
  'artifacts_type_check',
  `artifact_type IN ('PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE')`,
)
@Check(
  'artifacts_object_check',
  `(artifact_type IN ('SCREENSHOT', 'FILE')) = (object_key IS NOT NULL AND size_bytes IS NOT NULL)`,
)
@Index('artifacts_identity', ['runId', 'artifactType', 'identity'], { unique: true })
@Index('artifacts_run', ['runId', 'createdAt', 'uid'])
@Index('artifacts_reference', ['identity', 'scopeUid', 'createdAt', 'uid'], {
  where: `artifact_type = 'EXTERNAL_REFERENCE'`,
})
@Index('artifacts_object_key', ['objectKey'])
export class ArtifactEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'artifacts_pkey' })
  uid: string;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne('RunEntity', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'artifacts_run_id_fkey' })
  run?: unknown;

  /** The team or the person that owns the run. */
  @Column('uuid', { name: 'scope_uid' })
  scopeUid: string;

  @Column('text', { name: 'artifact_type' })
  artifactType: ArtifactType;

  /** What a repeated report is recognised by, within its run and type. */
  @Column('text')
  identity: string;

  /** What was reported, by type. */
  @Column('jsonb')
  data: object;

  /** Whether it can be read without a key. */
  @Column('boolean', { default: false })
  public: boolean;

  @Column('text', { name: 'object_key', nullable: true })
  objectKey: string | null;

  @Column('bigint', { name: 'size_bytes', nullable: true })
  sizeBytes: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** One state of the content of a plan; the one with the highest version is the current one. */
@Entity('artifact_plan_versions')
export class ArtifactPlanVersionEntity {
  @PrimaryColumn('uuid', {
    name: 'artifact_uid',
    primaryKeyConstraintName: 'artifact_plan_versions_pkey',
  })
  artifactUid: string;

  @ManyToOne(() => ArtifactEntity, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'artifact_uid',
    foreignKeyConstraintName: 'artifact_plan_versions_artifact_uid_fkey',
  })
  artifact?: Relation<ArtifactEntity>;

  /** From 1. */
  @PrimaryColumn('integer', { primaryKeyConstraintName: 'artifact_plan_versions_pkey' })
  version: number;

  @Column('text')
  content: string;

  @Column('text', { name: 'content_type' })
  contentType: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** A place that bytes may be put at, until they are reported as an artifact. */
@Entity('artifact_uploads')
@Check('artifact_uploads_type_check', `artifact_type IN ('SCREENSHOT', 'FILE')`)
@Index('artifact_uploads_run', ['runId'])
@Index('artifact_uploads_created', ['createdAt'])
@Index('artifact_uploads_object_key', ['objectKey'])
export class ArtifactUploadEntity {
  /** That of the artifact to come. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'artifact_uploads_pkey' })
  uid: string;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne('RunEntity', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'artifact_uploads_run_id_fkey' })
  run?: unknown;

  @Column('text', { name: 'artifact_type' })
  artifactType: 'SCREENSHOT' | 'FILE';

  @Column('text', { name: 'mime_type' })
  mimeType: string;

  @Column('text', { name: 'object_key' })
  objectKey: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** A file of the snapshot that an execution left behind for whoever continues its work. */
@Entity('snapshot_files')
@Index('snapshot_files_name', ['runId', 'executionId', 'generation', 'fileName'], { unique: true })
@Index('snapshot_files_object_key', ['objectKey'])
export class SnapshotFileEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'snapshot_files_pkey' })
  id: string;

  @Column('uuid', { name: 'run_id' })
  runId: string;

  @ManyToOne('RunEntity', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'snapshot_files_run_id_fkey' })
  run?: unknown;

  @Column('bigint', { name: 'execution_id' })
  executionId: string;

  @Column('text', { name: 'file_name' })
  fileName: string;

  @Column('text', { name: 'mime_type' })
  mimeType: string;

  @Column('text', { name: 'object_key' })
  objectKey: string;

  /** Of the checkpoint that it belongs to; -1: of none, but of what the execution leaves behind at its end. */
  @Column('bigint')
  generation: string;
}

/** The checkpoint of an execution that counts: the last one that it has committed. */
@Entity('snapshot_checkpoints')
export class SnapshotCheckpointEntity {
  @PrimaryColumn('uuid', { name: 'run_id', primaryKeyConstraintName: 'snapshot_checkpoints_pkey' })
  runId: string;

  @ManyToOne('RunEntity', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'run_id', foreignKeyConstraintName: 'snapshot_checkpoints_run_id_fkey' })
  run?: unknown;

  @PrimaryColumn('bigint', { name: 'execution_id', primaryKeyConstraintName: 'snapshot_checkpoints_pkey' })
  executionId: string;

  @Column('bigint')
  generation: string;
}
