import { Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { CreateSecret, Secrets, UpdateSecret } from '../../catalog/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { SealedValueError, SecretBox } from '../../kernel/security/secret-box.js';
import { hashToken } from '../domain/tokens.js';
import { webhookSecretContext } from '../domain/webhook.js';
import { secretFault, type SecretUse, suggestedSecretName } from '../domain/webhook-secret.js';
import type { SecretCopy } from '../persistence/webhook.repository.js';

export type NamedSecret =
  | { outcome: 'found'; value: string }
  | { outcome: 'missing' }
  /** Its value cannot be a secret of this use. */
  | { outcome: 'unfit'; fault: string };

const MAX_ATTEMPTS = 5;

/** The team's secrets that webhooks use, and the copies that webhooks keep of them. */
@Injectable()
export class WebhookSecrets {
  constructor(
    private readonly secrets: Secrets,
    private readonly createSecret: CreateSecret,
    private readonly updateSecret: UpdateSecret,
    private readonly box: SecretBox,
  ) {}

  /** The present value of the team's secret of this name, if a webhook of this use can take it. */
  async named(tx: Tx, teamUid: string, name: string, use: SecretUse): Promise<NamedSecret> {
    const value = (await this.secrets.values(tx, teamUid, [name])).values[name];
    if (value === undefined) return { outcome: 'missing' };
    const fault = secretFault(use, value);
    return fault === undefined ? { outcome: 'found', value } : { outcome: 'unfit', fault };
  }

  /**
   * Keeps the value as a new secret of the team.
   *
   * @param suggested its name, unless that is taken by now
   * @returns its name; undefined when the team has as many secrets as it may have, and then nothing was written
   */
  async make(
    tx: Tx,
    teamUid: string,
    webhookName: string,
    value: string,
    suggested = suggestedSecretName(webhookName),
  ): Promise<string | undefined> {
    let name = suggested;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { outcome } = await this.createSecret.execute(tx, { teamUid, ownerUid: null }, { name, value });
      if (outcome === 'created') return name;
      if (outcome === 'limit_reached') return undefined;
      name = suggestedSecretName(webhookName);
    }
    throw new Error(`none of ${String(MAX_ATTEMPTS)} random names for a secret was free`);
  }

  /** Gives the team's secret a new value. @returns whether there is one of this name */
  async update(tx: Tx, teamUid: string, name: string, value: string): Promise<boolean> {
    const owner = { teamUid, ownerUid: null };
    return (await this.updateSecret.execute(tx, owner, { name, value })) !== undefined;
  }

  /** Whether the copy that a webhook keeps is of this value. */
  isCopyOf(webhookUid: string, copy: SecretCopy, value: string): boolean {
    if (copy.secretHash !== null) return timingSafeEqual(copy.secretHash, hashToken(value));
    const sealed = { ciphertext: copy.sealedSecret, keyId: copy.sealedKeyId };
    try {
      const kept = this.box.open(webhookSecretContext(webhookUid), sealed);
      return timingSafeEqual(hashToken(kept), hashToken(value));
    } catch (error) {
      // Under a key that is no longer known: the new copy is of use again.
      if (error instanceof SealedValueError) return false;
      throw error;
    }
  }

  /** What a webhook keeps of its secret: a token's hash, or a signing secret encrypted for this webhook alone. */
  copy(webhookUid: string, { authMode }: SecretUse, value: string): SecretCopy {
    if (authMode !== 'signature') {
      return { secretHash: hashToken(value), sealedSecret: null, sealedKeyId: null };
    }
    const { ciphertext, keyId } = this.box.seal(webhookSecretContext(webhookUid), value);
    return { secretHash: null, sealedSecret: ciphertext, sealedKeyId: keyId };
  }
}
