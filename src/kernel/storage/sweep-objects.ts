import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MINUTE, SECOND } from '../clock.js';
import { BackgroundWork } from '../jobs/background-work.js';
import { Transactor } from '../persistence/transactor.js';
import { ObjectDeletions } from './object-deletions.js';
import { ObjectStorage } from './object-storage.js';

const BATCH_SIZE = 100;
/** Longer than any upload takes. */
const ABANDONED_MS = 24 * 60 * MINUTE;

/**
 * Deletes the objects whose rows are gone. A crash between the deletion of an object and the commit that forgets the order has it carried
 * out again, which changes nothing; any number of replicas may do it at once.
 */
@Injectable()
export class SweepObjects implements OnApplicationBootstrap {
  private readonly logger = new Logger(SweepObjects.name);

  constructor(
    private readonly deletions: ObjectDeletions,
    private readonly storage: ObjectStorage,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
  ) {}

  /** A crash is the reason for what is unfinished, so a start is the time to look for it. */
  onApplicationBootstrap(): void {
    void this.sweepUnfinished();
  }

  @Interval(60 * MINUTE)
  sweepUnfinished(): Promise<void> {
    return this.background.round(
      { role: 'sweeper', complaint: 'unfinished objects could not be removed' },
      () => this.storage.sweepUnfinished(ABANDONED_MS),
    );
  }

  @Interval(30 * SECOND)
  tick(): Promise<void> {
    return this.background.round({ role: 'sweeper', complaint: 'objects could not be deleted' }, () =>
      this.execute(),
    );
  }

  async execute(): Promise<void> {
    let taken = BATCH_SIZE;
    while (taken === BATCH_SIZE) taken = await this.deleteBatch();
  }

  private deleteBatch(): Promise<number> {
    return this.transactor.run(async (tx) => {
      const { taken, keys } = await this.deletions.take(tx, BATCH_SIZE);
      const failed: string[] = [];
      for (const key of keys) {
        await this.storage.delete(key).catch((error: unknown) => {
          this.logger.warn(
            { err: error, object_key: key },
            'an object could not be deleted; it is tried again',
          );
          failed.push(key);
        });
      }
      if (failed.length > 0) await this.deletions.postpone(tx, failed);
      return taken;
    });
  }
}
