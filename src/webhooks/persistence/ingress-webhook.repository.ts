import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { SignatureScheme } from '../domain/signature-scheme.js';
import type { AuthMode } from '../domain/webhook.js';

/** What the ingress has to know of a webhook. */
export interface IngressWebhookRow {
  uid: string;
  version: string;
  auth_mode: AuthMode;
  signature_scheme: SignatureScheme | null;
  secret_hash: Buffer | null;
  sealed_secret: Buffer | null;
  sealed_key_id: string | null;
  delivery_id_header: string | null;
}

/** Webhooks as the ingress reads them: those that take deliveries now. */
@Injectable()
export class IngressWebhookRepository {
  constructor(private readonly database: Database) {}

  /** @returns one for each uid, in their order; null where none takes deliveries */
  async findLive(uids: string[]): Promise<(IngressWebhookRow | null)[]> {
    const rows = await this.database.query<IngressWebhookRow>(
      `SELECT uid, version, auth_mode, signature_scheme, secret_hash, sealed_secret, sealed_key_id, delivery_id_header
         FROM webhooks WHERE uid = ANY($1::uuid[]) AND enabled AND deleted_at IS NULL`,
      [uids],
    );
    const byUid = new Map(rows.map((row) => [row.uid, row]));
    return uids.map((uid) => byUid.get(uid) ?? null);
  }
}
