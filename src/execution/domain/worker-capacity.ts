/**
 * How many more runs a worker is given. A worker alone knows its limit; the built-in one announces it, others are offered a few runs
 * at a time until they refuse one, and are then left alone until they have finished something or a while has passed.
 */
export class WorkerCapacity {
  private readonly held = new Set<number>();
  /** With the moment from which on the offer stands no longer, whoever takes it back. */
  private readonly unclaimed = new Map<number, number>();
  private fullUntil = 0;

  /** @param slots runs at a time, where the worker announced it */
  constructor(private readonly slots: number | undefined) {}

  /** @param now milliseconds */
  free(now: number): number {
    this.forgetOverdue(now);
    if (now < this.fullUntil) return 0;
    const offers = MAX_UNCLAIMED - this.unclaimed.size;
    return Math.max(0, this.slots === undefined ? offers : Math.min(offers, this.slots - this.held.size));
  }

  /** @param claimDeadline milliseconds */
  assigned(executionId: number, claimDeadline: number): void {
    this.held.add(executionId);
    this.unclaimed.set(executionId, claimDeadline);
  }

  /** However late: the worker has it. */
  claimed(executionId: number): void {
    this.held.add(executionId);
    this.unclaimed.delete(executionId);
  }

  /** The worker refused the run: it is full. */
  rejected(executionId: number, now: number): void {
    this.held.delete(executionId);
    this.unclaimed.delete(executionId);
    this.fullUntil = now + FULL_MS;
  }

  /** The run is off the worker's hands: finished, or taken back. */
  released(executionId: number): void {
    this.held.delete(executionId);
    this.unclaimed.delete(executionId);
    this.fullUntil = 0;
  }

  private forgetOverdue(now: number): void {
    for (const [executionId, deadline] of this.unclaimed) {
      if (now < deadline) continue;
      this.held.delete(executionId);
      this.unclaimed.delete(executionId);
    }
  }
}

/** Offers that may be open at a time: enough to hide the round trip, few enough to share the queue with other workers. */
const MAX_UNCLAIMED = 8;
const FULL_MS = 10_000;
