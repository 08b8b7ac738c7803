import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../../kernel/clock.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { SealedValueError, SecretBox } from '../../kernel/security/secret-box.js';
import { webhookSecretContext } from '../domain/webhook.js';
import { type SealedCopy, SealedCopyRepository } from '../persistence/sealed-copy.repository.js';

const BATCH_SIZE = 200;
const REPEAT_MS = 10 * MINUTE;

/**
 * Brings every webhook's signing secret under the present encryption key when ENCRYPTION_KEY_PREVIOUS names the one of before, as the
 * catalogue does with the team's secrets: at the start, and again while replicas may still write under the old key.
 */
@Injectable()
export class ReencryptWebhookSecrets implements OnApplicationBootstrap {
  private readonly logger = new Logger(ReencryptWebhookSecrets.name);

  constructor(
    private readonly copies: SealedCopyRepository,
    private readonly box: SecretBox,
    private readonly transactor: Transactor,
    private readonly config: AppConfig,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    await this.reencrypt();
    const { keyId, previousKeyId } = this.box;
    const lost = await this.copies.countUnderOtherKeys([keyId, previousKeyId ?? keyId]);
    if (lost > 0) {
      this.logger.error(
        { webhooks: lost },
        "webhooks' secrets are unreadable: they were encrypted with a key that is neither ENCRYPTION_KEY nor ENCRYPTION_KEY_PREVIOUS",
      );
    }
  }

  @Interval(REPEAT_MS)
  async tick(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    try {
      await withNewTrace(() => this.reencrypt());
    } catch (error) {
      this.logger.error(
        { err: error },
        "webhooks' secrets could not be encrypted anew; the next attempt goes on",
      );
    }
  }

  private async reencrypt(): Promise<void> {
    const { keyId, previousKeyId } = this.box;
    if (previousKeyId === undefined) return;
    let done = 0;
    let batch = await this.copies.underKey(previousKeyId, BATCH_SIZE, undefined);
    while (batch.length > 0) {
      const resealed = batch.flatMap((before) => this.reseal(before));
      done += await this.transactor.run((tx) => this.copies.reseal(tx, resealed));
      batch = await this.copies.underKey(previousKeyId, BATCH_SIZE, batch.at(-1)?.uid);
    }
    if (done > 0) this.logger.log({ webhooks: done, key_id: keyId }, 'encrypted secrets with the new key');
  }

  private reseal(before: SealedCopy) {
    const context = webhookSecretContext(before.uid);
    try {
      return [{ before, after: this.box.seal(context, this.box.open(context, before)) }];
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      this.logger.error({ webhook: before.uid }, `a webhook's secret is unreadable: ${error.message}`);
      return [];
    }
  }
}
