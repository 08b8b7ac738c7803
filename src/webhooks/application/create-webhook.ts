import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { FieldError } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { SignatureScheme } from '../domain/signature-scheme.js';
import { type AuthMode, MAX_WEBHOOKS, type Webhook } from '../domain/webhook.js';
import {
  generateSecret,
  secretFault,
  type SecretUse,
  suggestedSecretName,
} from '../domain/webhook-secret.js';
import { WebhookRepository } from '../persistence/webhook.repository.js';
import { Factories } from './factories.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** A webhook as it is asked for. */
export interface WebhookRequest {
  name: string;
  authMode: AuthMode;
  signatureScheme?: SignatureScheme;
  /** Its secret; without one, and without a name of one, it is generated or awaited. */
  secret?: string;
  /** Of a secret that the team has. */
  secretName?: string;
  deliveryIdHeader?: string;
  enabled: boolean;
}

export type CreateWebhookOutcome =
  /** With the secret to show once, where it has one of its own. */
  | { outcome: 'created'; webhook: Webhook; secret?: string }
  | { outcome: 'invalid'; error: FieldError }
  | { outcome: 'name_taken' }
  | { outcome: 'factory_full' }
  /** The team has as many secrets as it may have. */
  | { outcome: 'no_room_for_secret' };

/** Where a new webhook's secret comes from. */
type SecretSource =
  | { kind: 'named'; value: string; secretName: string }
  | { kind: 'own'; value: string }
  /** Its provider issues one once it has the ingress URL. */
  | { kind: 'awaited' }
  | { kind: 'invalid'; error: FieldError };

/** Makes a webhook in a managed factory. */
@Injectable()
export class CreateWebhook {
  constructor(
    private readonly factories: Factories,
    private readonly webhooks: WebhookRepository,
    private readonly secrets: WebhookSecrets,
  ) {}

  /** @throws Problem 404 when there is no such factory, 409 when a repository defines it */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    factoryUid: string,
    request: WebhookRequest,
  ): Promise<CreateWebhookOutcome> {
    const { teamUid } = await this.factories.find(tx, caller, factoryUid);
    await this.factories.assertManaged(tx, factoryUid);
    const use = secretUseOf(request);
    if ('error' in use) return { outcome: 'invalid', error: use.error };
    const { count, nameTaken } = await this.webhooks.census(tx, factoryUid, request.name);
    if (nameTaken) return { outcome: 'name_taken' };
    if (count >= MAX_WEBHOOKS) return { outcome: 'factory_full' };
    const source = await this.sourceOf(tx, teamUid, request, use);
    if (source.kind === 'invalid') return { outcome: 'invalid', error: source.error };
    const secretName = await this.secretNameOf(tx, teamUid, request.name, source);
    if (secretName === undefined) return { outcome: 'no_room_for_secret' };

    const uid = newUuid();
    const webhook = await this.webhooks.insert(tx, {
      ...use,
      uid,
      factoryUid,
      teamUid,
      name: request.name,
      secretName,
      madeSecret: source.kind === 'own',
      deliveryIdHeader: request.deliveryIdHeader ?? null,
      enabled: request.enabled && source.kind !== 'awaited',
      copy: source.kind === 'awaited' ? undefined : this.secrets.copy(uid, use, source.value),
    });
    return { outcome: 'created', webhook, secret: source.kind === 'own' ? source.value : undefined };
  }

  private async sourceOf(
    tx: Tx,
    teamUid: string,
    { secret, secretName }: WebhookRequest,
    use: SecretUse,
  ): Promise<SecretSource> {
    const invalid = (field: string, message: string): SecretSource => ({
      kind: 'invalid',
      error: { field, message },
    });
    if (secret !== undefined && secretName !== undefined) {
      return invalid('secret', 'must be left out where secret_name names the secret');
    }
    if (secretName !== undefined) {
      const named = await this.secrets.named(tx, teamUid, secretName, use);
      if (named.outcome === 'found') return { kind: 'named', value: named.value, secretName };
      if (named.outcome === 'missing') return invalid('secret_name', 'must name a secret of the team');
      return invalid('secret_name', `must name a secret whose value fits: it ${named.fault}`);
    }
    const value = secret ?? generateSecret(use);
    if (value === undefined) return { kind: 'awaited' };
    const fault = secretFault(use, value);
    return fault === undefined ? { kind: 'own', value } : invalid('secret', fault);
  }

  private async secretNameOf(
    tx: Tx,
    teamUid: string,
    webhookName: string,
    source: Exclude<SecretSource, { kind: 'invalid' }>,
  ): Promise<string | undefined> {
    switch (source.kind) {
      case 'named':
        return source.secretName;
      case 'awaited':
        return suggestedSecretName(webhookName);
      case 'own':
        return this.secrets.make(tx, teamUid, webhookName, source.value);
    }
  }
}

function secretUseOf({ authMode, signatureScheme }: WebhookRequest): SecretUse | { error: FieldError } {
  if (authMode === 'signature' && signatureScheme === undefined) {
    return { error: { field: 'signature_scheme', message: 'is required where auth_mode is signature' } };
  }
  if (authMode !== 'signature' && signatureScheme !== undefined) {
    return {
      error: { field: 'signature_scheme', message: 'must be left out unless auth_mode is signature' },
    };
  }
  return { authMode, signatureScheme: signatureScheme ?? null };
}
