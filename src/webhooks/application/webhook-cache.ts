import { Injectable, type OnModuleInit } from '@nestjs/common';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { SecretBox } from '../../kernel/security/secret-box.js';
import { type Credential, IngressWebhook } from '../domain/ingress-webhook.js';
import { createVerifier } from '../domain/signatures/verifier.js';
import { webhookSecretContext } from '../domain/webhook.js';
import {
  IngressWebhookRepository,
  type IngressWebhookRow,
} from '../persistence/ingress-webhook.repository.js';
import { MicroBatcher } from './micro-batcher.js';

/** Webhooks that are remembered at most, some kilobytes each. */
export const WEBHOOK_CACHE_CAPACITY = 20_000;

/**
 * The webhooks that deliveries came to lately, ready to judge the next.
 *
 * It may be outdated at any time, and nothing depends on it: whatever a request leads to is recorded only if the version that it was
 * judged by is the one in the database. A change drops its webhook here by a signal, which saves the next request a second look.
 * Webhooks that do not exist are not remembered: a flood of made-up uids fills nothing.
 */
@Injectable()
export class WebhookCache implements OnModuleInit {
  /** In the order of the reads: the longest ago goes first. */
  private readonly known = new Map<string, IngressWebhook>();
  private readonly reads: MicroBatcher<string, IngressWebhookRow | null>;

  constructor(
    webhooks: IngressWebhookRepository,
    private readonly box: SecretBox,
    private readonly signals: Signals,
  ) {
    this.reads = new MicroBatcher({
      run: (uids) => webhooks.findLive(uids),
      isWorthSplitting: (error) => !isDatabaseUnavailable(error),
      bytesOf: () => 0,
      maxItems: 256,
      maxBytes: Infinity,
      maxInFlight: 2,
      minItemsBeside: 256,
      maxWaiting: 10_000,
    });
  }

  onModuleInit(): void {
    this.signals.on('webhook_changed', ({ uid }) => this.known.delete(uid));
  }

  /** What is remembered of it. */
  get(uid: string): IngressWebhook | undefined {
    return this.known.get(uid);
  }

  /**
   * The webhook as it is now, by a read that begins after this call.
   *
   * @returns undefined when there is none, or it is disabled or deleted
   * @throws OverloadedError, SealedValueError
   */
  async read(uid: string): Promise<IngressWebhook | undefined> {
    const row = await this.reads.add(uid);
    this.known.delete(uid);
    if (row === null) return undefined;
    const webhook = new IngressWebhook(
      row.uid,
      row.version,
      this.credentialOf(row),
      row.delivery_id_header ?? undefined,
      row.signature_scheme === 'slack',
    );
    this.known.set(uid, webhook);
    const oldest = this.known.size > WEBHOOK_CACHE_CAPACITY ? this.known.keys().next().value : undefined;
    if (oldest !== undefined) this.known.delete(oldest);
    return webhook;
  }

  private credentialOf(row: IngressWebhookRow): Credential {
    if (row.auth_mode !== 'signature')
      return { mode: row.auth_mode, hash: row.secret_hash ?? Buffer.alloc(0) };
    if (row.signature_scheme === null || row.sealed_secret === null || row.sealed_key_id === null) {
      return { mode: 'signature', verifier: undefined };
    }
    const sealed = { ciphertext: row.sealed_secret, keyId: row.sealed_key_id };
    const secret = this.box.open(webhookSecretContext(row.uid), sealed);
    return { mode: 'signature', verifier: createVerifier(row.signature_scheme, secret) };
  }
}
