import { Injectable } from '@nestjs/common';
import { AgentIdentities } from '../../identities/index.js';
import { type FieldError, Problem } from '../../kernel/errors/problem.js';
import type { Queryable } from '../../kernel/persistence/database.js';
import { ModelChoice } from '../../runs/index.js';
import { complaintAboutLabels, MAX_RUBRIC, type ScorerSettings } from '../domain/scorer.js';

/** The rules of a scorer that hold between its fields, and between them and what else there is. */
@Injectable()
export class CheckScorer {
  constructor(
    private readonly agents: AgentIdentities,
    private readonly models: ModelChoice,
  ) {}

  /** @throws Problem 400 naming `rubric`, `labels`, `agent_uids`, `model_id` or `harness.model_id` */
  async execute(database: Queryable, teamUid: string, settings: ScorerSettings): Promise<void> {
    const errors: FieldError[] = [];
    if (settings.rubric.trim() === '' || settings.rubric.length > MAX_RUBRIC) {
      errors.push({ field: 'rubric', message: `must have 1 to ${String(MAX_RUBRIC)} characters` });
    }
    const complaint = complaintAboutLabels(settings.labels, settings.passingScore);
    if (complaint !== undefined) errors.push({ field: 'labels', message: complaint });
    if (new Set(settings.agentUids).size < settings.agentUids.length) {
      errors.push({ field: 'agent_uids', message: 'must name each agent once' });
    }
    const existing = await this.agents.existing(database, teamUid, settings.agentUids);
    const unknown = settings.agentUids.find((uid) => !existing.has(uid));
    if (unknown !== undefined) {
      errors.push({
        field: 'agent_uids',
        message: `must be agent identities of the team; ${unknown} is none`,
      });
    }
    if (errors.length > 0) throw Problem.invalid(errors);
    this.models.check(this.models.withDefaults({ model_id: settings.modelId, harness: settings.harness }));
  }
}
