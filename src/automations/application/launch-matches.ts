import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tx } from '../../kernel/persistence/database.js';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateRun } from '../../runs/index.js';
import { type ClaimedMatch, EvaluationLog, matchKey, type MatchResult } from '../../webhooks/index.js';
import { MAX_ATTEMPTS, retryDelaySeconds } from '../domain/retry.js';
import { AutomationRepository } from '../persistence/automation.repository.js';
import { EvaluationReports } from './evaluation-reports.js';
import { groupBy } from './lanes.js';
import { type PreparedMatch, PrepareMatchRuns } from './prepare-match-runs.js';

/** An automation whose run takes longer to prepare, such as one with a skill in a slow repository, goes its own way. */
const PATIENCE_MS = 1000;
/** How long further matches of it are put aside. */
const SLOW_SECONDS = 30;

/**
 * Starts the runs of claimed matches of one webhook, exactly one each.
 *
 * What may take long comes first: configuring the runs and storing their files. Then one transaction makes sure of the claims, creates
 * the runs and records what came of each match. Whatever is interrupted is done again, with the same ids.
 */
@Injectable()
export class LaunchMatches {
  private readonly logger = new Logger(LaunchMatches.name);
  /** Automations whose runs are still being prepared, apart from the others. */
  private readonly slow = new Map<string, Promise<void>>();

  constructor(
    private readonly transactor: Transactor,
    private readonly log: EvaluationLog,
    private readonly automations: AutomationRepository,
    private readonly prepareRuns: PrepareMatchRuns,
    private readonly createRun: CreateRun,
    private readonly reports: EvaluationReports,
  ) {}

  /** @throws what the database throws when it cannot be reached; the leases end then */
  async execute(matches: ClaimedMatch[]): Promise<void> {
    const waiting = matches.filter(({ automationUid }) => this.slow.has(automationUid));
    if (waiting.length > 0) {
      await this.transactor.run((tx) => this.log.postponeMatches(tx, waiting, SLOW_SECONDS));
    }
    const others = matches.filter(({ automationUid }) => !this.slow.has(automationUid));
    const patience = delay(PATIENCE_MS, undefined, { ref: false });
    const prepared = await Promise.all(
      [...groupBy(others, ({ automationUid }) => automationUid)].map(async ([automationUid, group]) => {
        const preparation = this.prepareRuns.execute(automationUid, group);
        const quick = await Promise.race([preparation, patience]);
        if (quick === undefined) this.goOwnWay(automationUid, preparation);
        return quick ?? [];
      }),
    );
    await this.finish(prepared.flat());
  }

  /** Resolves when nothing is under way apart. */
  async drain(): Promise<void> {
    await Promise.all(this.slow.values());
  }

  private goOwnWay(automationUid: string, preparation: Promise<PreparedMatch[]>): void {
    const done = preparation
      .then((prepared) => this.finish(prepared))
      .catch((error: unknown) => {
        this.logger.error({ err: error, automation_uid: automationUid }, 'runs could not be started');
      })
      .finally(() => this.slow.delete(automationUid));
    this.slow.set(automationUid, done);
  }

  private async finish(prepared: PreparedMatch[]): Promise<void> {
    if (prepared.length === 0) return;
    try {
      await this.transactor.run((tx) => this.settle(tx, prepared));
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      const [only, ...others] = prepared;
      // One run that cannot be created must not harm the others.
      if (others.length > 0) for (const each of prepared) await this.finish([each]);
      else if (only?.outcome === 'ready')
        await this.finish([{ match: only.match, outcome: 'failed', error }]);
      else throw error;
    }
  }

  private async settle(tx: Tx, prepared: PreparedMatch[]): Promise<void> {
    const held = await this.log.holdMatches(
      tx,
      prepared.map(({ match }) => match),
    );
    const enabled = await this.automations.holdEnabled(
      tx,
      prepared.map(({ match }) => match.automationUid),
    );
    const mine = prepared.filter(({ match }) => held.has(matchKey(match)));
    const ready = mine.flatMap((each) =>
      each.outcome === 'ready' && enabled.has(each.match.automationUid) ? [each.run] : [],
    );
    const created = ready.length === 0 ? [] : await this.createRun.executeAll(tx, ready);
    const runIds = new Map(
      created.map((result, index) => [
        ready[index]?.id,
        result.outcome === 'conversation_busy' ? undefined : result.runId,
      ]),
    );
    const settled: { match: ClaimedMatch; result: MatchResult }[] = [];
    for (const each of mine) {
      const result = this.resultOf(each, (id) => runIds.get(id));
      if (result === undefined) {
        await this.log.postponeMatches(tx, [each.match], retryDelaySeconds(each.match.attempts));
      } else {
        settled.push({ match: each.match, result });
      }
    }
    await this.log.settleMatches(tx, settled);
    tx.afterCommit(() => {
      for (const { result } of settled) this.reports.settled(result.outcome);
    });
  }

  /** @returns undefined when it is to be tried again */
  private resultOf(
    prepared: PreparedMatch,
    runIdOf: (id: string) => string | undefined,
  ): MatchResult | undefined {
    const { match } = prepared;
    switch (prepared.outcome) {
      case 'ready': {
        const runId = runIdOf(prepared.run.id);
        return runId === undefined
          ? { outcome: 'not_matched', reason: 'automation_disabled' }
          : { outcome: 'matched', runId };
      }
      case 'not_matched':
        return { outcome: 'not_matched', reason: prepared.reason };
      case 'refused':
        return { outcome: 'error', reason: prepared.reason };
      case 'failed': {
        const willRetry = match.attempts < MAX_ATTEMPTS;
        const fields = { delivery_id: match.deliveryId, automation_uid: match.automationUid };
        this.reports.failed('launch', willRetry, { ...fields, attempts: match.attempts }, prepared.error);
        return willRetry ? undefined : { outcome: 'error', reason: 'The run could not be started' };
      }
    }
  }
}
