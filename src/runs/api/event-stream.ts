import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Authenticate, bearerToken, type Caller } from '../../identities/index.js';
import { MINUTE, SECOND } from '../../kernel/clock.js';
import { Problem } from '../../kernel/errors/problem.js';
import { ReadEvents } from '../application/read-events.js';
import type { FollowedRuns } from '../domain/run-event.js';
import { toEventResponse } from './events.dto.js';

/** How long a stream lasts, how often it says that it is there, and how long its reader may take to make room. */
export interface StreamLimits {
  lifeMs: number;
  heartbeatMs: number;
  stallMs: number;
}
const STREAM_LIMITS: StreamLimits = {
  lifeMs: 14 * MINUTE,
  heartbeatMs: 15 * SECOND,
  stallMs: 30 * SECOND,
};
/** How long a client waits before it comes back. */
const RETRY_MS = 1000;
const MAX_STREAMS = 2000;
/** How long a stop waits until the readers know. */
const GOODBYE_MS = 1000;

/**
 * Server-sent events (WHATWG HTML, 9.2): `id` is the event's number, with which a reader that comes back goes on. Proxies cut what is
 * silent, so there are comments in between; and what lives for ever outlives its permission, so a stream ends itself and is opened anew.
 */
@Injectable()
export class EventStreams implements BeforeApplicationShutdown {
  private readonly logger = new Logger(EventStreams.name);
  private readonly stopping = new AbortController();
  /** Each resolves when its stream has ended and its reader has been told. */
  private readonly open = new Set<Promise<void>>();
  /** Of the streams that are opened from now on. */
  limits = STREAM_LIMITS;

  constructor(
    private readonly events: ReadEvents,
    private readonly authenticate: Authenticate,
  ) {}

  /** Before the HTTP server closes: a stream that is cut off looks like a fault to its reader. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.race([Promise.all(this.open), delay(GOODBYE_MS, undefined, { ref: false })]);
  }

  /** Resolves when the stream has ended. */
  async send(
    request: Request,
    response: Response,
    caller: Caller,
    from: { followed: FollowedRuns; since: number },
  ): Promise<void> {
    if (this.stopping.signal.aborted || this.open.size >= MAX_STREAMS)
      throw new Problem('resource_unavailable');
    const stream = this.serve(request, response, caller, from).finally(() => this.open.delete(stream));
    this.open.add(stream);
    await stream;
  }

  private async serve(
    request: Request,
    response: Response,
    caller: Caller,
    { followed, since }: { followed: FollowedRuns; since: number },
  ): Promise<void> {
    const { limits } = this;
    const left = new AbortController();
    const leave = (): void => {
      left.abort();
    };
    response.once('close', leave);
    const life = setTimeout(leave, limits.lifeMs);
    this.stopping.signal.addEventListener('abort', leave);
    try {
      const pages = this.events.follow(caller, followed, since, limits.heartbeatMs, left.signal);
      await this.write(response, pages, () => this.isStill(caller, request), limits);
    } catch (error) {
      // The head has been sent, so there is no other answer than the end: the reader comes back.
      this.logger.warn({ err: error }, 'a stream of events was broken off');
    } finally {
      clearTimeout(life);
      this.stopping.signal.removeEventListener('abort', leave);
      await end(response, limits.stallMs);
    }
  }

  /** @param isAdmitted asked now and then: a key may be revoked while its stream is open */
  private async write(
    response: Response,
    pages: ReturnType<ReadEvents['follow']>,
    isAdmitted: () => Promise<boolean>,
    { stallMs, heartbeatMs }: StreamLimits,
  ): Promise<void> {
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      // Asks nginx not to collect what is to arrive at once.
      'X-Accel-Buffering': 'no',
    });
    response.write(`retry: ${String(RETRY_MS)}\n\n`);
    let admittedAt = performance.now();
    for await (const page of pages) {
      if (performance.now() - admittedAt >= heartbeatMs) {
        if (!(await isAdmitted())) return;
        admittedAt = performance.now();
      }
      const text = page
        .map((event) => `id: ${String(event.sequence)}\ndata: ${JSON.stringify(toEventResponse(event))}\n\n`)
        .join('');
      if (!response.write(text || ': here\n\n') && !(await drained(response, stallMs))) {
        response.destroy();
        return;
      }
    }
  }

  private async isStill({ keyUid }: Caller, request: Request): Promise<boolean> {
    const key = bearerToken(request.get('authorization'));
    const team = request.get('x-team-uid') ?? request.get('x-warp-team-uid');
    const known = key === undefined ? undefined : await this.authenticate.execute(key, team);
    return known?.outcome === 'authenticated' && known.caller.keyUid === keyUid;
  }
}

/** False when the reader has taken nothing for so long, or has gone. */
async function drained(response: Response, withinMs: number): Promise<boolean> {
  try {
    await once(response, 'drain', { signal: AbortSignal.timeout(withinMs) });
    return true;
  } catch {
    return false;
  }
}

/** Resolves when the reader has been sent everything, or has gone; one that does not take it is cut off. */
async function end(response: Response, withinMs: number): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    const impatience = setTimeout(() => response.destroy(), withinMs);
    const done = (): void => {
      clearTimeout(impatience);
      resolve();
    };
    response.once('close', done);
    response.end(done);
  });
}
