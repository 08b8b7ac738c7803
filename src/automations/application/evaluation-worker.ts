import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { Database } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import {
  type Claim,
  type ClaimedDelivery,
  type ClaimedMatch,
  EvaluationLog,
  EvaluationQueue,
} from '../../webhooks/index.js';
import { EvaluateDeliveries } from './evaluate-deliveries.js';
import { Lanes } from './lanes.js';
import { LaunchMatches } from './launch-matches.js';

/** The safety net behind the signals. */
const POLL_MS = 1000;
/** After so long somebody else takes over what a process has claimed. */
const LEASE_SECONDS = 30;
/** Webhooks at a time. */
const LANES = 8;
/** Few: what comes for another webhook shares the database and, for its file, the disk with no more than this. */
const DELIVERIES_PER_CLAIM = 32;
const MATCHES_PER_CLAIM = 16;

/**
 * Makes runs of deliveries, outside of the request that brought them: the role `evaluator`.
 *
 * In two steps, so that what is slow or fails in the second, such as a repository with a skill, stops neither the first nor other
 * automations: deliveries are held against the automations, and then the runs of the matches are started. Both queues give every
 * webhook its turn.
 */
@Injectable()
export class EvaluationWorker implements OnModuleInit, OnModuleDestroy {
  private readonly deliveries: Lanes<ClaimedDelivery>;
  private readonly matches: Lanes<ClaimedMatch>;
  private lastDeliveries: string | undefined;
  private lastMatches: string | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly signals: Signals,
    private readonly database: Database,
    private readonly queue: EvaluationQueue,
    private readonly log: EvaluationLog,
    private readonly evaluateDeliveries: EvaluateDeliveries,
    private readonly launchMatches: LaunchMatches,
  ) {
    const keyOf = ({ webhookUid }: { webhookUid: string }): string => webhookUid;
    this.deliveries = new Lanes<ClaimedDelivery>(LANES, {
      keyOf,
      claim: (busy, lanes) => this.claimDeliveries(busy, lanes),
      work: async (webhookUid, claimed) => {
        await this.evaluateDeliveries.execute(webhookUid, claimed);
        this.matches.wake();
      },
    });
    this.matches = new Lanes<ClaimedMatch>(LANES, {
      keyOf,
      claim: (busy, lanes) => this.claimMatches(busy, lanes),
      work: (_, claimed) => this.launchMatches.execute(claimed),
    });
  }

  onModuleInit(): void {
    if (!this.config.roles.has('evaluator')) return;
    this.signals.on('delivery_queued', () => {
      this.deliveries.wake();
    });
  }

  @Interval(POLL_MS)
  poll(): void {
    if (!this.config.roles.has('evaluator')) return;
    this.deliveries.wake();
    this.matches.wake();
  }

  /** What is under way is finished; what is left in the queues is for others, or for later. */
  async onModuleDestroy(): Promise<void> {
    await this.deliveries.drain();
    await this.matches.drain();
    await this.launchMatches.drain();
  }

  private async claimDeliveries(except: string[], webhooks: number): Promise<ClaimedDelivery[]> {
    const claimed = await inTurn({ except, webhooks, after: this.lastDeliveries }, (turn) => {
      const claim = { ...turn, perWebhook: DELIVERIES_PER_CLAIM, leaseSeconds: LEASE_SECONDS };
      return this.queue.claim(this.database, claim);
    });
    this.lastDeliveries = cursorAfter(claimed, webhooks);
    return claimed;
  }

  private async claimMatches(except: string[], webhooks: number): Promise<ClaimedMatch[]> {
    const claimed = await inTurn({ except, webhooks, after: this.lastMatches }, (turn) => {
      const claim = { ...turn, perWebhook: MATCHES_PER_CLAIM, leaseSeconds: LEASE_SECONDS };
      return this.log.claimMatches(this.database, claim);
    });
    this.lastMatches = cursorAfter(claimed, webhooks);
    return claimed;
  }
}

type Turn = Pick<Claim, 'after' | 'except' | 'webhooks'>;

/** Claims behind the webhook of the last claim and, where there is too little, from the beginning. The last one comes last. */
async function inTurn<Item extends { webhookUid: string }>(
  turn: Turn,
  claim: (turn: Turn) => Promise<Item[]>,
): Promise<Item[]> {
  const behind = byWebhook(await claim(turn));
  const found = new Set(behind.map(({ webhookUid }) => webhookUid));
  if (turn.after === undefined || found.size === turn.webhooks) return behind;
  const before = await claim({
    after: undefined,
    except: [...turn.except, ...found],
    webhooks: turn.webhooks - found.size,
  });
  return [...behind, ...byWebhook(before)];
}

/** Where the next claim begins: behind this one where more may wait than it could take, else at the beginning. */
const cursorAfter = (claimed: { webhookUid: string }[], webhooks: number): string | undefined =>
  new Set(claimed.map(({ webhookUid }) => webhookUid)).size < webhooks
    ? undefined
    : claimed.at(-1)?.webhookUid;

const byWebhook = <Item extends { webhookUid: string }>(items: Item[]): Item[] =>
  items.sort((a, b) => (a.webhookUid < b.webhookUid ? -1 : a.webhookUid > b.webhookUid ? 1 : 0));
