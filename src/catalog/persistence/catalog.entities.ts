import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, type Relation } from 'typeorm';
import type { EnvironmentConfig } from '../domain/environment-config.js';

/** Where runs work: an image, repositories and set-up commands. */
@Entity('environments')
@Check('environments_uid_check', `uid ~ '^[A-Za-z0-9]{22}$'`)
@Check('environments_one_scope', `num_nonnulls(team_uid, owner_uid) = 1`)
@Index('environments_team', ['teamUid'], { where: 'team_uid IS NOT NULL' })
@Index('environments_owner', ['ownerUid'], { where: 'owner_uid IS NOT NULL' })
export class EnvironmentEntity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'environments_pkey' })
  uid: string;

  @Column('uuid', { name: 'team_uid', nullable: true })
  teamUid: string | null;

  @Column('uuid', { name: 'owner_uid', nullable: true })
  ownerUid: string | null;

  /** The configuration's name, for sorting. */
  @Column('text')
  name: string;

  @Column('jsonb')
  config: EnvironmentConfig;

  @Column('uuid', { name: 'creator_uid' })
  creatorUid: string;

  @Column('uuid', { name: 'last_editor_uid' })
  lastEditorUid: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'last_updated', precision: 3, default: () => 'now()' })
  lastUpdated: Date;
}

/** Access of a user or a team as a guest, or of whoever has the link. */
@Entity('environment_shares')
@Check('environment_shares_kind_check', `kind IN ('user', 'team', 'link')`)
@Check('environment_shares_grantee', `(kind = 'link') = (grantee_uid IS NULL)`)
@Check('environment_shares_link', `(kind = 'link') = (link_hash IS NOT NULL)`)
// Over all shares, since it also finds those of an environment; links have no grantee and are not the same.
@Index('environment_shares_grantee_once', ['environmentUid', 'kind', 'granteeUid'], { unique: true })
@Index('environment_shares_link_once', ['environmentUid'], { unique: true, where: `kind = 'link'` })
@Index('environment_shares_by_grantee', ['granteeUid'], { where: 'grantee_uid IS NOT NULL' })
export class EnvironmentShareEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'environment_shares_pkey' })
  uid: string;

  @Column('text', { name: 'environment_uid' })
  environmentUid: string;

  @ManyToOne(() => EnvironmentEntity, { onDelete: 'CASCADE' })
  @JoinColumn({
    name: 'environment_uid',
    foreignKeyConstraintName: 'environment_shares_environment_uid_fkey',
  })
  environment?: Relation<EnvironmentEntity>;

  @Column('text')
  kind: 'user' | 'team' | 'link';

  @Column('uuid', { name: 'grantee_uid', nullable: true })
  granteeUid: string | null;

  /** SHA-256 of the link's token, which is kept nowhere. */
  @Column('bytea', { name: 'link_hash', nullable: true })
  linkHash: Buffer | null;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** Who has opened a link. */
@Entity('environment_link_visits')
@Index('environment_link_visits_visitor', ['visitorUid'])
export class EnvironmentLinkVisitEntity {
  @PrimaryColumn('uuid', { name: 'share_uid', primaryKeyConstraintName: 'environment_link_visits_pkey' })
  shareUid: string;

  @PrimaryColumn('uuid', { name: 'visitor_uid', primaryKeyConstraintName: 'environment_link_visits_pkey' })
  visitorUid: string;

  @ManyToOne(() => EnvironmentShareEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'share_uid', foreignKeyConstraintName: 'environment_link_visits_share_uid_fkey' })
  share?: Relation<EnvironmentShareEntity>;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/** A managed secret. Its value can be written and used, never read. */
@Entity('secrets')
@Check('secrets_one_scope', `num_nonnulls(team_uid, owner_uid) = 1`)
@Index('secrets_team_name', ['teamUid', 'name'], { unique: true, where: 'team_uid IS NOT NULL' })
@Index('secrets_owner_name', ['ownerUid', 'name'], { unique: true, where: 'owner_uid IS NOT NULL' })
@Index('secrets_key', ['keyId'])
export class SecretEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'secrets_pkey' })
  uid: string;

  @Column('uuid', { name: 'team_uid', nullable: true })
  teamUid: string | null;

  @Column('uuid', { name: 'owner_uid', nullable: true })
  ownerUid: string | null;

  @Column('text')
  name: string;

  /** AES-256-GCM: nonce, ciphertext and tag. */
  @Column('bytea')
  ciphertext: Buffer;

  /** Which encryption key it was encrypted with. */
  @Column('text', { name: 'key_id' })
  keyId: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt: Date;
}
