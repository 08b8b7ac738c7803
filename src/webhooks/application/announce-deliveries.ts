import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Signals } from '../../kernel/persistence/signals.js';

/** A signal costs a transaction: however many deliveries come in, there are at most so many a second. */
const PAUSE_MS = 20;

/** Tells evaluators that deliveries were queued: at once, and then once for all that come during a short pause. */
@Injectable()
export class AnnounceDeliveries implements OnApplicationShutdown {
  private pause: NodeJS.Timeout | undefined;
  private isWanted = false;

  constructor(private readonly signals: Signals) {}

  /** Call it after the commit. */
  execute(): void {
    if (this.pause !== undefined) {
      this.isWanted = true;
      return;
    }
    this.signals.send('delivery_queued', null);
    this.pause = setTimeout(() => {
      this.pause = undefined;
      if (this.isWanted) {
        this.isWanted = false;
        this.execute();
      }
    }, PAUSE_MS).unref();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.pause);
  }
}
