/** Remembers the executions that a worker took last, so that an assignment sent twice is executed once. */
export class RecentExecutions {
  private readonly keys = new Set<string>();

  constructor(private readonly capacity = 4096) {}

  has(key: string): boolean {
    return this.keys.has(key);
  }

  /** Forgets the oldest beyond the capacity. */
  add(key: string): void {
    this.keys.add(key);
    const [oldest] = this.keys;
    if (this.keys.size > this.capacity && oldest !== undefined) this.keys.delete(oldest);
  }
}
