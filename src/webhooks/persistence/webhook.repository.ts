import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import type { Webhook } from '../domain/webhook.js';

/** A webhook's own copy of its secret: one of the two, as its mode wants. */
export type SecretCopy =
  | { secretHash: Buffer; sealedSecret: null; sealedKeyId: null }
  | { secretHash: null; sealedSecret: Buffer; sealedKeyId: string };

export type NewWebhook = Omit<Webhook, 'awaitingSecret' | 'createdAt' | 'updatedAt'> & {
  /** Undefined while its secret is awaited. */
  copy: SecretCopy | undefined;
};

/** What changes of a webhook; undefined leaves it as it is. */
export interface WebhookChange {
  deliveryIdHeader?: string | null;
  enabled?: boolean;
  copy?: SecretCopy;
  secretName?: string;
  madeSecret?: boolean;
}

const COLUMNS = `
  uid, factory_uid AS "factoryUid", team_uid AS "teamUid", name, auth_mode AS "authMode",
  signature_scheme AS "signatureScheme", secret_name AS "secretName", made_secret AS "madeSecret",
  delivery_id_header AS "deliveryIdHeader", enabled, created_at AS "createdAt", updated_at AS "updatedAt",
  secret_hash IS NULL AND sealed_secret IS NULL AS "awaitingSecret"`;

/** Webhooks that are not deleted. Every write raises the version in its one statement and tells the replicas once it has committed. */
@Injectable()
export class WebhookRepository {
  constructor(private readonly signals: Signals) {}

  /** By name. */
  list(database: Queryable, factoryUid: string): Promise<Webhook[]> {
    return database.query<Webhook>(
      `SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL ORDER BY lower(name)`,
      [factoryUid],
    );
  }

  async find(database: Queryable, teamUid: string, uid: string): Promise<Webhook | undefined> {
    const rows = await database.query<Webhook>(
      `SELECT ${COLUMNS} FROM webhooks WHERE uid = $1 AND team_uid = $2 AND deleted_at IS NULL`,
      [uid, teamUid],
    );
    return rows[0];
  }

  /** How many webhooks the factory has, and whether one of them is called so. True until the end of a transaction that locked the factory. */
  async census(tx: Tx, factoryUid: string, name: string): Promise<{ count: number; nameTaken: boolean }> {
    const [census] = await tx.query<{ count: number; nameTaken: boolean }>(
      `SELECT count(*)::int AS count, coalesce(bool_or(lower(name) = lower($2)), false) AS "nameTaken"
         FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL`,
      [factoryUid, name],
    );
    if (census === undefined) throw new Error('an aggregate always has a row');
    return census;
  }

  async insert(tx: Tx, webhook: NewWebhook): Promise<Webhook> {
    const rows = await tx.query<Webhook>(
      `INSERT INTO webhooks (uid, factory_uid, team_uid, name, auth_mode, signature_scheme, secret_name, made_secret,
                             delivery_id_header, enabled, secret_hash, sealed_secret, sealed_key_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING ${COLUMNS}`,
      [
        ...[webhook.uid, webhook.factoryUid, webhook.teamUid, webhook.name, webhook.authMode],
        ...[webhook.signatureScheme, webhook.secretName, webhook.madeSecret],
        ...[webhook.deliveryIdHeader, webhook.enabled, ...copyColumns(webhook.copy)],
      ],
    );
    if (rows[0] === undefined) throw new Error('an insert without a condition inserts');
    this.announce(tx, webhook.uid);
    return rows[0];
  }

  /** @returns undefined when there is no such webhook any more */
  async change(tx: Tx, uid: string, change: WebhookChange): Promise<Webhook | undefined> {
    const rows = await tx.query<Webhook>(
      `UPDATE webhooks
          SET delivery_id_header = CASE WHEN $2 THEN $3 ELSE delivery_id_header END,
              enabled = coalesce($4, enabled), secret_name = coalesce($5, secret_name),
              made_secret = coalesce($6, made_secret), secret_hash = coalesce($7, secret_hash),
              sealed_secret = coalesce($8, sealed_secret), sealed_key_id = coalesce($9, sealed_key_id),
              version = version + 1, updated_at = now()
        WHERE uid = $1 AND deleted_at IS NULL RETURNING ${COLUMNS}`,
      [
        ...[uid, change.deliveryIdHeader !== undefined, change.deliveryIdHeader ?? null],
        ...[change.enabled ?? null, change.secretName ?? null, change.madeSecret ?? null],
        ...copyColumns(change.copy),
      ],
    );
    if (rows[0] !== undefined) this.announce(tx, uid);
    return rows[0];
  }

  /** What the factory's webhooks keep of their secrets, by their uids. */
  async copies(tx: Tx, factoryUid: string): Promise<Map<string, SecretCopy>> {
    const rows = await tx.query<SecretCopy & { uid: string }>(
      `SELECT uid, secret_hash AS "secretHash", sealed_secret AS "sealedSecret", sealed_key_id AS "sealedKeyId"
         FROM webhooks WHERE factory_uid = $1 AND deleted_at IS NULL AND num_nonnulls(secret_hash, sealed_secret) = 1`,
      [factoryUid],
    );
    return new Map(rows.map(({ uid, ...copy }) => [uid, copy]));
  }

  /** Makes the webhook what is given, in whatever mode it was. */
  async redefine(tx: Tx, webhook: NewWebhook & { copy: SecretCopy }): Promise<void> {
    await tx.query(
      `UPDATE webhooks
          SET name = $2, auth_mode = $3, signature_scheme = $4, secret_name = $5, made_secret = $6,
              delivery_id_header = $7, enabled = $8, secret_hash = $9, sealed_secret = $10, sealed_key_id = $11,
              version = version + 1, updated_at = now()
        WHERE uid = $1 AND deleted_at IS NULL`,
      [
        ...[webhook.uid, webhook.name, webhook.authMode, webhook.signatureScheme, webhook.secretName],
        ...[webhook.madeSecret, webhook.deliveryIdHeader, webhook.enabled, ...copyColumns(webhook.copy)],
      ],
    );
    this.announce(tx, webhook.uid);
  }

  /** Leaves a row without a secret, for what refers to it. @returns whether there was one */
  async delete(tx: Tx, uid: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE webhooks
          SET deleted_at = now(), enabled = false, secret_hash = NULL, sealed_secret = NULL, sealed_key_id = NULL,
              version = version + 1, updated_at = now()
        WHERE uid = $1 AND deleted_at IS NULL RETURNING uid`,
      [uid],
    );
    if (rows.length > 0) this.announce(tx, uid);
    return rows.length > 0;
  }

  private announce(tx: Tx, uid: string): void {
    tx.afterCommit(() => {
      this.signals.send('webhook_changed', { uid });
    });
  }
}

const copyColumns = (copy: SecretCopy | undefined): (Buffer | string | null)[] => [
  copy?.secretHash ?? null,
  copy?.sealedSecret ?? null,
  copy?.sealedKeyId ?? null,
];
