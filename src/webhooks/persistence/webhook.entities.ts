import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import type { FactoryMode } from '../domain/factory.js';
import type { SignatureScheme } from '../domain/signature-scheme.js';
import type { AuthMode } from '../domain/webhook.js';

/** What groups a team's webhooks and automations. */
@Entity('factories')
@Check('factories_mode_check', `mode IN ('managed', 'repository')`)
// An index over an expression, which TypeORM cannot describe; the migration makes it.
@Index('factories_team_name', { synchronize: false })
export class FactoryEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'factories_pkey' })
  uid: string;

  @Column('uuid', { name: 'team_uid' })
  teamUid: string;

  // By the table's name: the entity belongs to another context.
  @ManyToOne('teams', { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'team_uid', foreignKeyConstraintName: 'factories_team_uid_fkey' })
  team?: object;

  @Column('text')
  name: string;

  @Column('text', { default: 'managed' })
  mode: FactoryMode;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;
}

/** Where a sender's deliveries come in. A deleted one stays, without its secret. */
@Entity('webhooks')
@Check('webhooks_auth_mode_check', `auth_mode IN ('token', 'url_token', 'signature')`)
@Check('webhooks_scheme_of_mode', `(auth_mode = 'signature') = (signature_scheme IS NOT NULL)`)
@Check(
  'webhooks_secret_of_mode',
  `CASE WHEN auth_mode = 'signature' THEN secret_hash IS NULL ELSE sealed_secret IS NULL END`,
)
@Check('webhooks_sealed_with_key', `(sealed_secret IS NULL) = (sealed_key_id IS NULL)`)
@Check(
  'webhooks_enabled_with_secret',
  `NOT enabled OR (deleted_at IS NULL AND num_nonnulls(secret_hash, sealed_secret) = 1)`,
)
// An index over an expression, which TypeORM cannot describe; the migration makes it.
@Index('webhooks_factory_name', { synchronize: false })
@Index('webhooks_factory', ['factoryUid'])
@Index('webhooks_key', ['sealedKeyId'], { where: 'sealed_key_id IS NOT NULL' })
export class WebhookEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhooks_pkey' })
  uid: string;

  @Column('uuid', { name: 'factory_uid' })
  factoryUid: string;

  @ManyToOne(() => FactoryEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'factory_uid', foreignKeyConstraintName: 'webhooks_factory_uid_fkey' })
  factory?: Relation<FactoryEntity>;

  /** The factory's. */
  @Column('uuid', { name: 'team_uid' })
  teamUid: string;

  @Column('text')
  name: string;

  @Column('text', { name: 'auth_mode' })
  authMode: AuthMode;

  @Column('text', { name: 'signature_scheme', nullable: true })
  signatureScheme: SignatureScheme | null;

  /** The team's secret that this webhook takes its copy from. */
  @Column('text', { name: 'secret_name' })
  secretName: string;

  /** The webhook made that secret itself, so rotation gives it the new value too. */
  @Column('boolean', { name: 'made_secret', default: false })
  madeSecret: boolean;

  /** SHA-256 of a bearer or URL token, which is kept nowhere else here. */
  @Column('bytea', { name: 'secret_hash', nullable: true })
  secretHash: Buffer | null;

  /** A signing secret, AES-256-GCM: nonce, ciphertext and tag. */
  @Column('bytea', { name: 'sealed_secret', nullable: true })
  sealedSecret: Buffer | null;

  /** Which encryption key the signing secret was encrypted with. */
  @Column('text', { name: 'sealed_key_id', nullable: true })
  sealedKeyId: string | null;

  @Column('text', { name: 'delivery_id_header', nullable: true })
  deliveryIdHeader: string | null;

  @Column('boolean')
  enabled: boolean;

  /** Raised by every change that the ingress must honour, so that what it remembers can be checked. */
  @Column('bigint', { default: 1 })
  version: string;

  @Column({ type: 'timestamptz', name: 'deleted_at', precision: 3, nullable: true })
  deletedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;
}
