import { Injectable } from '@nestjs/common';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import {
  DeliveryRepository,
  type DeliveryRecord,
  MAX_RECORDING,
  type Recording,
} from '../persistence/delivery.repository.js';
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
      run: (records) => deliveries.record(records),
      isWorthSplitting: (error) => !isDatabaseUnavailable(error),
      bytesOf: ({ payload }) => payload?.length ?? 0,
      maxItems: 64,
      maxBytes: 4 * MEBIBYTE,
      maxInFlight: MAX_RECORDING,
      maxWaiting: 2_000,
    });
  }

  /**
   * Resolves after the commit.
   *
   * @throws OverloadedError when too much waits, and whatever the database threw; then it is not known whether it was recorded
   */
  async execute(record: DeliveryRecord): Promise<Recording> {
    const key = record.budget?.key;
    const retryAfterMs = key === undefined ? undefined : this.spent.retryAfterMs(key);
    if (retryAfterMs !== undefined) return { outcome: 'over_budget', retryAfterMs };
    const recording = await this.batcher.add(record);
    if (recording.outcome === 'over_budget' && key !== undefined) {
      this.spent.note(key, recording.retryAfterMs);
    }
    if (recording.outcome === 'recorded' && record.status === 'accepted') this.announceDeliveries.execute();
    return recording;
  }
}
