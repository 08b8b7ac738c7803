/** Nothing more can be taken in at the moment. */
export class OverloadedError extends Error {}

interface Waiting<Item, Result> {
  item: Item;
  bytes: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface MicroBatcherOptions<Item, Result> {
  /** Handles the items together and answers one result for each, in their order. */
  run: (items: Item[]) => Promise<Result[]>;
  /** Whether the items of a batch that failed so are tried one by one: one bad item must harm no other. */
  isWorthSplitting: (error: unknown) => boolean;
  /** Of an item, for the bound of a batch. */
  bytesOf: (item: Item) => number;
  maxItems: number;
  maxBytes: number;
  /** Batches at a time. */
  maxInFlight: number;
  /** Items that are worth a batch beside one that is under way; with none under way a single one is. */
  minItemsBeside: number;
  /** Items that wait at most, over all. */
  maxWaiting: number;
}

/**
 * Collects what arrives while the batch before it is under way, and handles it together. There is no timer: a batch leaves at the end of
 * the event loop's turn in which its first item came, or when the one in flight has ended. So a lone item waits for nothing, and the
 * busier it gets the larger the batches grow.
 *
 * Beside a batch in flight another one leaves only when it is worth it: fewer and larger batches cost less.
 */
export class MicroBatcher<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private inFlight = 0;
  private scheduled = false;

  constructor(private readonly options: MicroBatcherOptions<Item, Result>) {}

  /** @throws OverloadedError when too many wait; else what `run` threw for this item */
  add(item: Item): Promise<Result> {
    if (this.waiting.length >= this.options.maxWaiting) {
      return Promise.reject(new OverloadedError('too much is waiting to be recorded'));
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, bytes: this.options.bytesOf(item), resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.scheduled || !this.isDue()) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.flush();
    });
  }

  private flush(): void {
    while (this.isDue()) {
      this.inFlight += 1;
      void this.handle(this.take());
    }
  }

  private isDue(): boolean {
    const { maxInFlight, minItemsBeside } = this.options;
    const minItems = this.inFlight === 0 ? 1 : minItemsBeside;
    return this.inFlight < maxInFlight && this.waiting.length >= minItems;
  }

  /** At least one item, however large. */
  private take(): Waiting<Item, Result>[] {
    const { maxItems, maxBytes } = this.options;
    let count = 0;
    for (let bytes = 0; count < Math.min(maxItems, this.waiting.length); count++) {
      bytes += this.waiting[count]?.bytes ?? 0;
      if (count > 0 && bytes > maxBytes) break;
    }
    return this.waiting.splice(0, count);
  }

  private async handle(batch: Waiting<Item, Result>[]): Promise<void> {
    const tell = await this.outcomeOf(batch);
    this.inFlight -= 1;
    this.flush();
    // The next batch is on its way before those of this one go on with their results.
    setImmediate(tell);
  }

  /** @returns what tells the items */
  private async outcomeOf(batch: Waiting<Item, Result>[]): Promise<() => void> {
    try {
      const results = await this.options.run(batch.map(({ item }) => item));
      return () => {
        batch.forEach((waiting, index) => {
          settle(waiting, results[index]);
        });
      };
    } catch (error) {
      if (batch.length > 1 && this.options.isWorthSplitting(error)) return this.outcomeOneByOne(batch);
      return () => {
        rejectAll(batch, error);
      };
    }
  }

  private async outcomeOneByOne(batch: Waiting<Item, Result>[]): Promise<() => void> {
    const outcomes: (() => void)[] = [];
    for (const [index, waiting] of batch.entries()) {
      try {
        const [result] = await this.options.run([waiting.item]);
        outcomes.push(() => {
          settle(waiting, result);
        });
      } catch (error) {
        // What no item is to blame for happens to all that are left, too, and none of them waits for that.
        const failed = this.options.isWorthSplitting(error) ? [waiting] : batch.slice(index);
        outcomes.push(() => {
          rejectAll(failed, error);
        });
        if (failed.length > 1) break;
      }
    }
    return () => {
      for (const tell of outcomes) tell();
    };
  }
}

function settle<Item, Result>({ resolve, reject }: Waiting<Item, Result>, result: Result | undefined): void {
  if (result === undefined) reject(new Error('the batch has no result for this item'));
  else resolve(result);
}

function rejectAll<Item, Result>(batch: Waiting<Item, Result>[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}
