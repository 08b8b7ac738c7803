import { Injectable } from '@nestjs/common';
import type { Caller } from '../../identities/index.js';
import type { FollowedRuns, RunEventView, RunSelection } from '../domain/run-event.js';
import { RunEventReadModel } from '../persistence/run-event.read-model.js';
import { EventFeed } from './event-feed.js';
import { runVisibility } from './run-visibility.js';

const PAGE = 100;

/** Reads the events of runs in the one order that all events have. A run's own agent may follow its run and what descends from that. */
@Injectable()
export class ReadEvents {
  constructor(
    private readonly events: RunEventReadModel,
    private readonly feed: EventFeed,
  ) {}

  /** @returns undefined when one of the runs does not exist or is none of the caller's */
  resolve(caller: Caller, selection: RunSelection): Promise<FollowedRuns | undefined> {
    return this.events.resolve(selection, runVisibility(caller));
  }

  /** The next events after the number `since`. */
  page(caller: Caller, followed: FollowedRuns, since: number, limit: number): Promise<RunEventView[]> {
    return this.events.page(followed, runVisibility(caller), since, limit);
  }

  /**
   * The events after the number `since`, page by page, as they come; an empty page when none has come for a while. It reads no further
   * than its reader: a slow one costs the memory of a page. Ends when the signal aborts.
   */
  async *follow(
    caller: Caller,
    followed: FollowedRuns,
    since: number,
    idleMs: number,
    signal: AbortSignal,
  ): AsyncGenerator<RunEventView[], void, void> {
    const subscription = await this.feed.subscribe(followed);
    try {
      let last = since;
      while (!signal.aborted) {
        const page = await this.page(caller, followed, last, PAGE);
        yield page;
        last = page.at(-1)?.sequence ?? last;
        if (page.length < PAGE) await subscription.changed(idleMs, signal);
      }
    } finally {
      subscription.close();
    }
  }
}
