const CAPACITY = 50_000;

/**
 * Budgets that the database has called spent, until there is room in them again: within that time a request too many is refused without
 * asking it again. So a flood costs the database as much as its budget allows, and no more.
 */
export class SpentBudgets {
  private readonly until = new Map<string, number>();

  /** @param now monotonic milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {}

  note(key: string, retryAfterMs: number): void {
    this.until.delete(key);
    this.until.set(key, this.now() + retryAfterMs);
    const oldest = this.until.size > CAPACITY ? this.until.keys().next().value : undefined;
    if (oldest !== undefined) this.until.delete(oldest);
  }

  /** Milliseconds until there is room; undefined when there may be some now. */
  retryAfterMs(key: string): number | undefined {
    const until = this.until.get(key);
    if (until === undefined) return undefined;
    const left = until - this.now();
    if (left > 0) return left;
    this.until.delete(key);
    return undefined;
  }
}
