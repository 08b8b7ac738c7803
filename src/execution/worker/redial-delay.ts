import { exponentialDelayMs } from '../runner/backoff.js';

const SECOND = 1000;
/** A connection that ends sooner counts as refused: else a server that drops every connection is dialled in a tight loop. */
const SHORTEST_USEFUL_CONNECTION_MS = SECOND;

/** How long to wait before the next dial: nothing after a connection that lived, else 1, 2, 4 … s up to the cap. */
export class RedialDelay {
  private refusals = 0;

  constructor(private readonly capMs: number) {}

  /** `livedMs` is how long the connection was open; undefined when it never was. */
  afterEnd(livedMs: number | undefined): number {
    if (livedMs !== undefined && livedMs >= SHORTEST_USEFUL_CONNECTION_MS) {
      this.refusals = 0;
      return 0;
    }
    const delayMs = exponentialDelayMs(this.refusals, { firstMs: SECOND, capMs: this.capMs });
    this.refusals += 1;
    return delayMs;
  }
}
