import { hash } from 'node:crypto';
import { SECOND } from '../../kernel/clock.js';

/** How long what was read of a key may be acted upon, counted from before the read: a revocation bites everywhere within it. */
export const CALLER_TTL_MS = SECOND;
/** A key that is used after this much of its life is read again in the background, so that a busy one never waits. */
export const CALLER_REFRESH_MS = CALLER_TTL_MS / 2;
/** Keys that are remembered at most; about a kilobyte each. */
export const CALLER_CAPACITY = 5000;

interface Entry<Row> {
  row: Row;
  /** When the read began: all that was committed before is in the row. */
  readAt: number;
  refreshing: boolean;
}

/**
 * What the database said of the API keys that were used in the last second.
 *
 * The guard's own query costs more than everything else that a small request does (`npm run bench:auth`), so its answer is used
 * again for {@link CALLER_TTL_MS} and no longer. That is the promise about revoked keys, removed members and changed roles: a
 * request that arrives a second after the change was committed is judged by it, on every replica, without any message between
 * them. The replica that made the change calls {@link forgetAll} after its commit and is right at once.
 *
 * Only known keys are kept (a flood of wrong ones fills nothing), under the SHA-256 of the key, never the key itself. When it is
 * full, what was read the longest ago goes. Every miss reads by itself: a request never waits for a read that began before it came.
 */
export class CallerCache<Row extends object> {
  private readonly entries = new Map<string, Entry<Row>>();
  /** Counts {@link forgetAll}: a read that began before one may not be remembered after it. */
  private generation = 0;

  /**
   * @param read asks the database for the key; undefined = no such key
   * @param mayKeep whether this answer may be used again
   * @param now monotonic milliseconds: a wall clock that is set back would lengthen the life of a revoked key
   */
  constructor(
    private readonly read: (key: string) => Promise<Row | undefined>,
    private readonly mayKeep: (row: Row) => boolean,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @returns a promise, and what it rejects with comes from `read`, when nothing fresh enough is remembered */
  get(key: string): Row | Promise<Row | undefined> {
    const id = hash('sha256', key, 'base64');
    const entry = this.entries.get(id);
    const age = entry === undefined ? Infinity : this.now() - entry.readAt;
    if (entry === undefined || age >= CALLER_TTL_MS) return this.load(id, key);
    if (age >= CALLER_REFRESH_MS && !entry.refreshing) {
      entry.refreshing = true;
      // Failed in the background it is tried again in the foreground, by whoever comes when the entry is too old.
      this.load(id, key).catch(() => undefined);
    }
    return entry.row;
  }

  /** After this, every key is read anew. For the replica that has just changed a key, a membership or an agent. */
  forgetAll(): void {
    this.generation += 1;
    this.entries.clear();
  }

  private async load(id: string, key: string): Promise<Row | undefined> {
    const { generation } = this;
    const readAt = this.now();
    const row = await this.read(key);
    if (generation !== this.generation) return row;
    // Out and in again: the order of the map is the order of the reads.
    this.entries.delete(id);
    if (row === undefined || !this.mayKeep(row)) return row;
    this.entries.set(id, { row, readAt, refreshing: false });
    const oldest = this.entries.size > CALLER_CAPACITY ? this.entries.keys().next().value : undefined;
    if (oldest !== undefined) this.entries.delete(oldest);
    return row;
  }
}
