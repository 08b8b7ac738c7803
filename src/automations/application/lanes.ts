import { Logger } from '@nestjs/common';
import { withNewTrace } from '../../kernel/http/request-context.js';

export interface LaneWork<Item> {
  /** Takes work of several keys off a queue, none of those that are busy; `lanes` keys at most. */
  claim(busy: string[], lanes: number): Promise<Item[]>;
  keyOf(item: Item): string;
  /** What it throws is logged; the lease of its items brings them back. */
  work(key: string, items: Item[]): Promise<void>;
}

/**
 * Works on several keys at a time, on each in one lane: however much is queued for one key, and however long it takes, the others
 * go on. It looks for work when it is woken and whenever a lane has become free.
 */
export class Lanes<Item> {
  private readonly logger = new Logger(Lanes.name);
  private readonly busy = new Map<string, Promise<void>>();
  private filling: Promise<void> | undefined;
  private wanted = false;
  private isDraining = false;

  constructor(
    private readonly count: number,
    private readonly lane: LaneWork<Item>,
  ) {}

  /** Looks for work soon. Any number of calls while it looks lead to one more look. */
  wake(): void {
    if (this.isDraining) return;
    this.wanted = true;
    this.filling ??= withNewTrace(() => this.fill())
      .catch((error: unknown) => {
        this.logger.error({ err: error }, 'no work could be claimed; the next poll tries again');
      })
      .finally(() => {
        this.filling = undefined;
        // Asked for between the last look and this.
        if (this.wanted && this.busy.size < this.count) this.wake();
      });
  }

  /** From now on nothing is claimed. Resolves when what is under way is done. */
  async drain(): Promise<void> {
    this.isDraining = true;
    this.wanted = false;
    await this.filling;
    await Promise.all(this.busy.values());
  }

  private async fill(): Promise<void> {
    while (this.wanted && !this.isDraining && this.busy.size < this.count) {
      this.wanted = false;
      const items = await this.lane.claim([...this.busy.keys()], this.count - this.busy.size);
      for (const [key, group] of groupBy(items, (item) => this.lane.keyOf(item))) this.open(key, group);
    }
  }

  private open(key: string, items: Item[]): void {
    const done = withNewTrace(() => this.lane.work(key, items))
      .catch((error: unknown) => {
        this.logger.error({ err: error, key }, 'work failed; it is tried again when its lease ends');
      })
      .finally(() => {
        this.busy.delete(key);
        this.wake();
      });
    this.busy.set(key, done);
  }
}

export function groupBy<Item>(items: Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
