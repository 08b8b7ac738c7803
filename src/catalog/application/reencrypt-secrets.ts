import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../../kernel/clock.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { SealedValueError, SecretBox } from '../../kernel/security/secret-box.js';
import { secretContext } from '../domain/secret-view.js';
import { type SealedSecret, SecretRepository } from '../persistence/secret.repository.js';

/** Of up to 64 KiB each. */
const BATCH_SIZE = 50;
const REPEAT_MS = 10 * MINUTE;

/**
 * Brings every secret under the present encryption key when ENCRYPTION_KEY_PREVIOUS names the one of before: at the start, and again
 * from time to time, as replicas that still run with the old key write under it until the last of them is replaced. Meanwhile values
 * open with either key. Any number of replicas may do it at once.
 */
@Injectable()
export class ReencryptSecrets implements OnApplicationBootstrap {
  private readonly logger = new Logger(ReencryptSecrets.name);

  constructor(
    private readonly secrets: SecretRepository,
    private readonly box: SecretBox,
    private readonly transactor: Transactor,
    private readonly config: AppConfig,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    await this.reencrypt();
    const { keyId, previousKeyId } = this.box;
    const lost = await this.secrets.countUnderOtherKeys([keyId, previousKeyId ?? keyId]);
    if (lost > 0) {
      this.logger.error(
        { secrets: lost },
        'secrets are unreadable: they were encrypted with a key that is neither ENCRYPTION_KEY nor ENCRYPTION_KEY_PREVIOUS',
      );
    }
  }

  @Interval(REPEAT_MS)
  async tick(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    try {
      await withNewTrace(() => this.reencrypt());
    } catch (error) {
      this.logger.error({ err: error }, 'secrets could not be encrypted anew; the next attempt goes on');
    }
  }

  private async reencrypt(): Promise<void> {
    const { keyId, previousKeyId } = this.box;
    if (previousKeyId === undefined) return;
    let done = 0;
    let batch = await this.secrets.underKey(previousKeyId, BATCH_SIZE, undefined);
    while (batch.length > 0) {
      const resealed = batch.flatMap((before) => this.reseal(before));
      done += await this.transactor.run((tx) => this.secrets.reseal(tx, resealed));
      batch = await this.secrets.underKey(previousKeyId, BATCH_SIZE, batch.at(-1)?.uid);
    }
    if (done > 0) this.logger.log({ secrets: done, key_id: keyId }, 'encrypted secrets with the new key');
  }

  private reseal(before: SealedSecret) {
    const context = secretContext(before.uid);
    try {
      return [{ before, after: this.box.seal(context, this.box.open(context, before)) }];
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      this.logger.error({ secret: before.name }, `a secret is unreadable: ${error.message}`);
      return [];
    }
  }
}
