import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { newUuid } from '../../src/kernel/ids.js';
import type { SecretBox } from '../../src/kernel/security/secret-box.js';
import type { SignatureScheme } from '../../src/webhooks/domain/signature-scheme.js';
import { hashToken } from '../../src/webhooks/domain/tokens.js';
import { webhookSecretContext } from '../../src/webhooks/domain/webhook.js';
import { firstTeam } from './identities.js';

export interface TestWebhook {
  uid: string;
  secret: string;
  /** Of the ingress; with the token where the URL is the credential. */
  path: string;
}

export interface NewWebhook {
  mode?: 'token' | 'url_token' | 'signature';
  scheme?: SignatureScheme;
  secret?: string;
  deliveryIdHeader?: string;
  enabled?: boolean;
}

/** A webhook of the first team, as its management would store it. */
export async function insertWebhook(
  { dataSource, box }: { dataSource: DataSource; box: SecretBox },
  {
    mode,
    scheme,
    secret = randomBytes(32).toString('base64url'),
    deliveryIdHeader,
    enabled,
  }: NewWebhook = {},
): Promise<TestWebhook> {
  const uid = newUuid();
  const authMode = mode ?? (scheme === undefined ? 'token' : 'signature');
  const sealed = authMode === 'signature' ? box.seal(webhookSecretContext(uid), secret) : undefined;
  await dataSource.query(
    `WITH factory AS (
       INSERT INTO factories (uid, team_uid, name) VALUES ($1::uuid, $2, $1::uuid::text) RETURNING uid, team_uid
     )
     INSERT INTO webhooks (uid, factory_uid, team_uid, name, auth_mode, signature_scheme, secret_name, secret_hash,
                           sealed_secret, sealed_key_id, delivery_id_header, enabled)
     SELECT $3, uid, team_uid, 'a webhook', $4, $5, 'A_SECRET', $6, $7, $8, $9, $10 FROM factory`,
    [
      randomUUID(),
      await firstTeam(dataSource),
      uid,
      authMode,
      scheme ?? null,
      sealed === undefined ? hashToken(secret) : null,
      sealed?.ciphertext ?? null,
      sealed?.keyId ?? null,
      deliveryIdHeader ?? null,
      enabled ?? true,
    ],
  );
  const path = `/webhooks/w/${uid}${authMode === 'url_token' ? `/${secret}` : ''}`;
  return { uid, secret, path };
}

/** As GitHub signs. */
export const githubSignature = (secret: string, body: string | Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
