/** So many at a time; whoever comes later waits for a place, first come, first served. */
export class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  /** @returns false when the signal came first: then there is nothing to release */
  acquire(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.free > 0) {
      this.free--;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const giveUp = () => {
        this.waiting.splice(this.waiting.indexOf(enter), 1);
        resolve(false);
      };
      const enter = () => {
        signal.removeEventListener('abort', giveUp);
        resolve(true);
      };
      this.waiting.push(enter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  release(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free++;
    else next();
  }
}
