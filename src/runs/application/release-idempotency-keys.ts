import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { MINUTE } from '../../kernel/clock.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { IdempotencyKeyRepository } from '../persistence/idempotency-key.repository.js';

/** Forgets idempotency keys that have expired, a batch a minute. One that is sent again before that is released at once. */
@Injectable()
export class ReleaseIdempotencyKeys {
  constructor(
    private readonly keys: IdempotencyKeyRepository,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
  ) {}

  @Interval(MINUTE)
  tick(): Promise<void> {
    return this.background.round(
      { role: 'sweeper', complaint: 'idempotency keys could not be released' },
      () => this.execute(),
    );
  }

  execute(): Promise<void> {
    return this.transactor.run((tx) => this.keys.release(tx));
  }
}
