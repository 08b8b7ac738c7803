import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { MINUTE } from '../../kernel/clock.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { IdempotencyKeyRepository } from '../persistence/idempotency-key.repository.js';

/** Forgets idempotency keys that have expired, a batch a minute. One that is sent again before that is released at once. */
@Injectable()
export class ReleaseIdempotencyKeys {
  private readonly logger = new Logger(ReleaseIdempotencyKeys.name);

  constructor(
    private readonly keys: IdempotencyKeyRepository,
    private readonly transactor: Transactor,
    private readonly config: AppConfig,
  ) {}

  @Interval(MINUTE)
  async tick(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    try {
      await withNewTrace(() => this.execute());
    } catch (error) {
      this.logger.error(
        { err: error },
        'idempotency keys could not be released; the next minute tries again',
      );
    }
  }

  execute(): Promise<void> {
    return this.transactor.run((tx) => this.keys.release(tx));
  }
}
