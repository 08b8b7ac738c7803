import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';

@Entity('users')
// An index over an expression, which TypeORM cannot describe; the migration makes it.
@Index('users_email', { synchronize: false })
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

  /** Granted beyond the role. */
  @Column('text', { array: true, default: [] })
  permissions: string[];

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** An agent identity: a team's service account, and how runs that are executed as it are configured. */
@Entity('agents')
@Index('agents_team_age', ['teamUid', 'createdAt', 'uid'])
@Index('agents_team_default', ['teamUid'], { unique: true, where: 'is_default' })
export class AgentEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'agents_pkey' })
  uid: string;

  @Column('uuid', { name: 'team_uid' })
  teamUid: string;

  @ManyToOne(() => TeamEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'team_uid', foreignKeyConstraintName: 'agents_team_uid_fkey' })
  team?: Relation<TeamEntity>;

  @Column('text')
  name: string;

  @Column('text', { nullable: true })
  description: string | null;

  /** Stands before the prompt of every run. */
  @Column('text', { nullable: true })
  prompt: string | null;

  /** Made with the team; there is always one. */
  @Column('boolean', { name: 'is_default', default: false })
  isDefault: boolean;

  @Column('text', { name: 'environment_id', nullable: true })
  environmentId: string | null;

  @Column('text', { name: 'base_model', nullable: true })
  baseModel: string | null;

  @Column('text', { name: 'base_harness', nullable: true })
  baseHarness: string | null;

  @Column('jsonb', { nullable: true })
  harness: object | null;

  @Column('jsonb', { name: 'harness_auth_secrets', nullable: true })
  harnessAuthSecrets: object | null;

  /** Names of the team's secrets that its executions get. */
  @Column('text', { array: true, default: [] })
  secrets: string[];

  @Column('text', { array: true, default: [] })
  skills: string[];

  @Column('jsonb', { name: 'mcp_servers', nullable: true })
  mcpServers: object | null;

  @Column('jsonb', { default: { auto_memory: { enabled: false }, attached_stores: [] } })
  memory: object;

  @Column('jsonb', { name: 'inference_providers', nullable: true })
  inferenceProviders: object | null;

  @Column('text', { name: 'credential_strategy', nullable: true })
  credentialStrategy: 'CREATOR' | 'EXECUTOR' | null;

  @Column('text', { name: 'default_runner_uid', default: '' })
  defaultRunnerUid: string;

  @Column('boolean', { name: 'on_behalf_of_enabled', default: false })
  onBehalfOfEnabled: boolean;

  @Column('text', { name: 'worker_host', nullable: true })
  workerHost: string | null;

  /** By the definition that it came from, which has it no more. */
  @Column('boolean', { default: false })
  disabled: boolean;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;
}

/** A key of a user, of an agent identity, or of one execution of a run. Only its hash is kept. */
@Entity('api_keys')
@Check('api_keys_one_owner', `num_nonnulls(user_uid, agent_uid, run_id) = 1`)
@Check('api_keys_run_execution', `(run_id IS NULL) = (execution_id IS NULL)`)
@Index('api_keys_prefix', ['prefix'])
@Index('api_keys_user_uid', ['userUid'], { where: 'user_uid IS NOT NULL' })
@Index('api_keys_agent_uid', ['agentUid'], { where: 'agent_uid IS NOT NULL' })
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

  @Column('uuid', { name: 'agent_uid', nullable: true })
  agentUid: string | null;

  @ManyToOne(() => AgentEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'agent_uid', foreignKeyConstraintName: 'api_keys_agent_uid_fkey' })
  agent?: Relation<AgentEntity>;

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
