import { Injectable } from '@nestjs/common';
import { ERROR_CATALOGUE } from '../../kernel/errors/error-catalogue.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database } from '../../kernel/persistence/database.js';
import { type NewRun, StoreAttachments } from '../../runs/index.js';
import { type ClaimedMatch, EvaluationQueue } from '../../webhooks/index.js';
import { derivedUuid } from '../domain/derived-uuid.js';
import { PAYLOAD_FILE, runPrompt } from '../domain/run-prompt.js';
import { AutomationRepository, type LaunchableAutomation } from '../persistence/automation.repository.js';
import { ConfigureAutomationRuns, type RunTemplate } from './configure-automation-runs.js';

/** What is to be done about a match. */
export type PreparedMatch = { match: ClaimedMatch } & (
  | { outcome: 'ready'; run: NewRun & { id: string } }
  /** It starts nothing, and another attempt would not either. */
  | { outcome: 'not_matched' | 'refused'; reason: string }
  /** We failed. */
  | { outcome: 'failed'; error: unknown }
);

const MAX_REASON = 1000;

/**
 * Makes of matches of one automation the runs that are to be created, and stores their files. All of it can be repeated: a run and its
 * file have the ids that follow from the delivery and the automation.
 */
@Injectable()
export class PrepareMatchRuns {
  constructor(
    private readonly automations: AutomationRepository,
    private readonly configureRuns: ConfigureAutomationRuns,
    private readonly queue: EvaluationQueue,
    private readonly storeAttachments: StoreAttachments,
    private readonly database: Database,
  ) {}

  /** Never throws. */
  async execute(automationUid: string, matches: ClaimedMatch[]): Promise<PreparedMatch[]> {
    try {
      const [automation] = await this.automations.launchable(this.database, [automationUid]);
      if (!automation?.enabled) {
        const reason = automation === undefined ? 'automation_deleted' : 'automation_disabled';
        return matches.map((match) => ({ match, outcome: 'not_matched', reason }));
      }
      const template = await this.configureRuns.execute(automation);
      const payloads = await this.queue.payloads(
        this.database,
        matches.map(({ deliveryId }) => deliveryId),
      );
      return await Promise.all(
        matches.map((match) => this.prepare(match, automation, template, payloads.get(match.deliveryId))),
      );
    } catch (error) {
      return matches.map((match) => toPrepared(match, error));
    }
  }

  private async prepare(
    match: ClaimedMatch,
    automation: LaunchableAutomation,
    template: RunTemplate,
    payload: Buffer | undefined,
  ): Promise<PreparedMatch> {
    const { deliveryId, webhookUid, webhookName } = match;
    if (payload === undefined) {
      return { match, outcome: 'refused', reason: 'The delivery is in the log no more' };
    }
    const originKey = `delivery:${deliveryId}:${automation.uid}`;
    const id = derivedUuid(deliveryId, originKey);
    try {
      const attachments = await this.storeAttachments.execute(id, [
        {
          id: derivedUuid(deliveryId, `${originKey}:${PAYLOAD_FILE}`),
          fileName: PAYLOAD_FILE,
          mimeType: 'application/json',
          bytes: payload,
        },
      ]);
      const run = {
        ...template,
        source: 'WEBHOOK' as const,
        id,
        originKey,
        prompt: runPrompt(automation.prompt, {
          webhookUid,
          webhookName: webhookName ?? webhookUid,
          deliveryId,
        }),
        metadata: { automation_uid: automation.uid, webhook_uid: webhookUid, delivery_id: deliveryId },
        attachments,
      };
      return { match, outcome: 'ready', run };
    } catch (error) {
      return toPrepared(match, error);
    }
  }
}

/** What the people who set up the automation have to put right is told them; all else is ours. */
function toPrepared(match: ClaimedMatch, error: unknown): PreparedMatch {
  return error instanceof Problem && ERROR_CATALOGUE[error.code].status < 500
    ? { match, outcome: 'refused', reason: error.message.slice(0, MAX_REASON).toWellFormed() }
    : { match, outcome: 'failed', error };
}
