import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';

@Entity('users')
export class UserEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'users_pkey' })
  uid: string;

  @Column('text', { name: 'display_name' })
  displayName: string;

  @Column('text', { nullable: true })
  email: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

@Entity('teams')
export class TeamEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'teams_pkey' })
  uid: string;

  @Column('text')
  name: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

@Entity('memberships')
@Check('memberships_role_check', `role IN ('admin', 'member')`)
@Index('memberships_user_uid', ['userUid'])
export class MembershipEntity {
  @PrimaryColumn('uuid', { name: 'team_uid', primaryKeyConstraintName: 'memberships_pkey' })
  teamUid: string;

  @PrimaryColumn('uuid', { name: 'user_uid', primaryKeyConstraintName: 'memberships_pkey' })
  userUid: string;

  @ManyToOne(() => TeamEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'team_uid', foreignKeyConstraintName: 'memberships_team_uid_fkey' })
  team?: Relation<TeamEntity>;

  @ManyToOne(() => UserEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_uid', foreignKeyConstraintName: 'memberships_user_uid_fkey' })
  user?: Relation<UserEntity>;

  @Column('text')
  role: 'admin' | 'member';

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** A key of a user, or of one execution of a run. Only its hash is kept. */
@Entity('api_keys')
@Check('api_keys_one_owner', `num_nonnulls(user_uid, run_id) = 1`)
@Check('api_keys_run_execution', `(run_id IS NULL) = (execution_id IS NULL)`)
@Index('api_keys_prefix', ['prefix'])
@Index('api_keys_user_uid', ['userUid'], { where: 'user_uid IS NOT NULL' })
@Index('api_keys_execution_id', ['executionId'], { where: 'execution_id IS NOT NULL' })
export class ApiKeyEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'api_keys_pkey' })
  uid: string;

  @Column('text')
  name: string;

  /** The first characters, by which it is found. */
  @Column('text')
  prefix: string;

  @Column('text', { name: 'last_four' })
  lastFour: string;

  /** SHA-256 of the whole key. */
  @Column('bytea')
  hash: Buffer;

  @Column('uuid', { name: 'user_uid', nullable: true })
  userUid: string | null;

  @ManyToOne(() => UserEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_uid', foreignKeyConstraintName: 'api_keys_user_uid_fkey' })
  user?: Relation<UserEntity>;

  @Column('uuid', { name: 'run_id', nullable: true })
  runId: string | null;

  @Column('bigint', { name: 'execution_id', nullable: true })
  executionId: string | null;

  /** Of the operator of this installation: its workers form the hosted pool. */
  @Column('boolean', { default: false })
  operator: boolean;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'timestamptz', name: 'last_used_at', precision: 3, nullable: true })
  lastUsedAt: Date | null;
}
