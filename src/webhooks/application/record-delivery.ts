import { Injectable } from '@nestjs/common';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import {
  DeliveryRepository,
  type DeliveryRecord,
  type Recording,
} from '../persistence/delivery.repository.js';
import { MAX_PIPELINED } from '../persistence/ingress-connection.js';
import { AnnounceDeliveries } from './announce-deliveries.js';
import { MicroBatcher } from './micro-batcher.js';
import { SpentBudgets } from './spent-budgets.js';

const MEBIBYTE = 1024 * 1024;

/** Records what came in, together with what else comes in at the same time. */
@Injectable()
export class RecordDelivery {
  private readonly spent = new SpentBudgets();
  private readonly batcher: MicroBatcher<DeliveryRecord, Recording>;

  constructor(
    deliveries: DeliveryRepository,
    private readonly announceDeliveries: AnnounceDeliveries,
  ) {
    this.batcher = new MicroBatcher({
      run: async (records) => {
        const recordings = await deliveries.record(records);
        this.noteWhatBecame(records, recordings);
        return recordings;
      },
      isWorthSplitting: (error) => !isDatabaseUnavailable(error),
      bytesOf: ({ payload }) => payload?.length ?? 0,
      maxItems: 64,
      maxBytes: 4 * MEBIBYTE,
      maxInFlight: MAX_PIPELINED,
      minItemsBeside: 8,
      maxWaiting: 2_000,
    });
  }

  /**
   * Resolves after the commit.
   *
   * @throws OverloadedError when too much waits, and whatever the database threw; then it is not known whether it was recorded
   */
  execute(record: DeliveryRecord): Promise<Recording> {
    const retryAfterMs = record.budget && this.spent.retryAfterMs(record.budget.key);
    return retryAfterMs === undefined
      ? this.batcher.add(record)
      : Promise.resolve({ outcome: 'over_budget', retryAfterMs });
  }

  /** Once for a whole batch: each delivery by itself would pay for it. */
  private noteWhatBecame(records: DeliveryRecord[], recordings: Recording[]): void {
    records.forEach(({ budget }, index) => {
      const recording = recordings[index];
      if (recording?.outcome === 'over_budget' && budget !== undefined) {
        this.spent.note(budget.key, recording.retryAfterMs);
      }
    });
    const isQueued = records.some(
      ({ status }, index) => status === 'accepted' && recordings[index]?.outcome === 'recorded',
    );
    if (isQueued) this.announceDeliveries.execute();
  }
}
