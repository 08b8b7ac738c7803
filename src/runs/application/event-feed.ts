import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SECOND } from '../../kernel/clock.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { Signals } from '../../kernel/persistence/signals.js';
import type { FollowedRuns } from '../domain/run-event.js';
import { RunEventReadModel } from '../persistence/run-event.read-model.js';

/** The safety net behind the signals. */
const POLL_MS = 2 * SECOND;
const BATCH = 1000;

/** Whoever waits for new events of certain runs. */
export interface FeedSubscription {
  /** Resolves when there may be something new since the last call, at the latest after the given time or when the signal aborts. */
  changed(withinMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

interface Subscriber {
  followed: FollowedRuns;
  wake: () => void;
}

/**
 * Wakes those of this process who follow runs when there are new events of theirs. It looks at all new events once, however many
 * follow; each follower then reads its own from the database, so that nothing rests on a wake-up that was lost.
 */
@Injectable()
export class EventFeed implements OnModuleInit {
  private readonly logger = new Logger(EventFeed.name);
  private readonly subscribers = new Set<Subscriber>();
  /** The last event that was looked at; undefined while nobody follows. */
  private tail: number | undefined;
  private looking: Promise<void> | undefined;
  private lookAgain = false;

  constructor(
    private readonly events: RunEventReadModel,
    private readonly signals: Signals,
  ) {}

  onModuleInit(): void {
    this.signals.on('run_events', () => {
      this.look();
    });
  }

  @Interval(POLL_MS)
  poll(): void {
    this.look();
  }

  /** From the moment that this has resolved no event of the runs goes unheard. */
  async subscribe(followed: FollowedRuns): Promise<FeedSubscription> {
    let isNew = false;
    let wakeUp: (() => void) | undefined;
    const subscriber: Subscriber = {
      followed,
      wake: () => {
        isNew = true;
        wakeUp?.();
      },
    };
    this.subscribers.add(subscriber);
    const close = (): void => {
      this.subscribers.delete(subscriber);
      if (this.subscribers.size === 0) this.tail = undefined;
    };
    try {
      const latest = this.tail ?? (await this.events.latest());
      this.tail ??= latest;
    } catch (error) {
      close();
      throw error;
    }
    return {
      changed: (withinMs, signal) =>
        new Promise((resolve) => {
          const done = (): void => {
            clearTimeout(timer);
            signal.removeEventListener('abort', done);
            wakeUp = undefined;
            isNew = false;
            resolve();
          };
          const timer = setTimeout(done, withinMs);
          signal.addEventListener('abort', done);
          wakeUp = done;
          if (isNew || signal.aborted) done();
        }),
      close,
    };
  }

  /** Any number of calls while one is under way lead to one more. */
  private look(): void {
    if (this.subscribers.size === 0) return;
    if (this.looking !== undefined) {
      this.lookAgain = true;
      return;
    }
    this.looking = withNewTrace(() => this.hearAll())
      .catch((error: unknown) => {
        this.logger.warn({ err: error }, 'new events could not be looked for; the next poll tries again');
      })
      .finally(() => {
        this.looking = undefined;
        if (!this.lookAgain) return;
        this.lookAgain = false;
        this.look();
      });
  }

  private async hearAll(): Promise<void> {
    while (this.tail !== undefined) {
      const heard = await this.events.heard(this.tail, BATCH);
      const last = heard.at(-1);
      if (last === undefined) return;
      this.tail = last.sequence;
      const runIds = new Set(heard.map(({ runId }) => runId));
      const rootRunIds = new Set(heard.map(({ rootRunId }) => rootRunId));
      for (const { followed, wake } of this.subscribers) {
        const concerns =
          followed.kind === 'tree'
            ? rootRunIds.has(followed.rootRunId)
            : followed.runIds.some((runId) => runIds.has(runId));
        if (concerns) wake();
      }
      if (heard.length < BATCH) return;
    }
  }
}
