import { SharedClock } from '../../src/kernel/persistence/shared-clock.js';

/** A clock that stands where a test has set it. */
export class TurnedClock extends SharedClock {
  constructor(private time: string) {
    super();
  }

  now(): Promise<Date> {
    return Promise.resolve(new Date(this.time));
  }

  /** @param time in RFC 3339 */
  set(time: string): void {
    this.time = time;
  }
}
