import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { AppConfig, type Role } from '../../config/app-config.js';
import { SECOND } from '../clock.js';
import { withNewTrace } from '../http/request-context.js';

/** How long a stop waits for rounds under way. What is cut off then is undone by the database, and done again elsewhere. */
const DRAIN_TIMEOUT_MS = 2 * SECOND;

/** Work that a process repeats by itself, one round after the other (`@Interval`). Any number of replicas may repeat the same. */
@Injectable()
export class BackgroundWork implements BeforeApplicationShutdown {
  private readonly logger = new Logger(BackgroundWork.name);
  private readonly underWay = new Map<string, Promise<void>>();
  private stopping = false;

  constructor(private readonly config: AppConfig) {}

  /** Whether the process stops: work of many steps ends after the one that it is at. */
  get isStopping(): boolean {
    return this.stopping;
  }

  /**
   * One round, under a trace id of its own; none while the last one is under way, or the process stops. A failure is logged, and the next
   * round tries again.
   *
   * @param complaint what could not be done, such as `old events could not be forgotten`; no other work has the same
   * @param role of the processes that do it; all of them where it is left out
   */
  async round(
    { complaint, role }: { complaint: string; role?: Role },
    work: () => Promise<unknown>,
  ): Promise<void> {
    if (this.stopping || this.underWay.has(complaint)) return;
    if (role !== undefined && !this.config.roles.has(role)) return;
    const round = withNewTrace(() => this.attempt(complaint, work));
    this.underWay.set(complaint, round);
    await round;
    this.underWay.delete(complaint);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await Promise.race([
      Promise.all(this.underWay.values()),
      delay(DRAIN_TIMEOUT_MS, undefined, { ref: false }),
    ]);
  }

  private async attempt(complaint: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The database is taken away from what a stop does not wait for.
      if (!this.stopping) this.logger.error({ err: error }, `${complaint}; the next round tries again`);
    }
  }
}
