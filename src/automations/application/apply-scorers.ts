import { Injectable } from '@nestjs/common';
import { isUuid } from '../../kernel/ids.js';
import { Problem } from '../../kernel/errors/problem.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { FactoryScorers } from '../../scores/index.js';
import type { Factory } from '../../webhooks/index.js';
import type { DefinitionError, Located, ScorerFile } from '../domain/definition.js';
import type { DefinitionStep } from '../domain/definition-plan.js';
import { isSame } from '../domain/is-same.js';
import { scorerFileOf, scorerSettingsOf } from '../domain/scorer-file.js';

/** What fields of a scorer are called in its file; the rubric stands behind the front matter. */
const FIELDS: Record<string, string[]> = { rubric: [], agent_uids: ['agents'] };

/** Makes the scorers of a factory those of its definition; what it has not is deleted. One that changes keeps its id and its results. */
@Injectable()
export class ApplyScorers {
  constructor(private readonly scorers: FactoryScorers) {}

  /**
   * Call it while the factory is held.
   *
   * @param agentUids of the definition's own agents, by name
   */
  async execute(
    tx: Tx,
    factory: Factory,
    desired: Located<ScorerFile>[],
    agentUids: ReadonlyMap<string, string>,
  ): Promise<{ plan: DefinitionStep[]; errors: DefinitionError[] }> {
    const present = new Map((await this.scorers.list(tx, factory.uid)).map((each) => [each.name, each]));
    const plan: DefinitionStep[] = [];
    const errors: DefinitionError[] = [];
    // First of all: a team that has as many as it may have gets room for the others.
    const names = desired.map(({ value }) => value.name);
    for (const name of await this.scorers.deleteExcept(tx, factory.uid, names)) {
      plan.push({ action: 'delete', kind: 'scorer', name });
    }
    for (const { value, error } of desired) {
      const { name } = value;
      const uids = value.agents.map(
        (agent) => agentUids.get(agent) ?? (isUuid(agent) ? agent.toLowerCase() : undefined),
      );
      const unknown = uids.indexOf(undefined);
      if (unknown >= 0) {
        const message = 'must be the name of an agent below agents/, or the uid of an agent of the team';
        errors.push(error(['agents', unknown], message));
        continue;
      }
      const settings = scorerSettingsOf(
        value,
        uids.filter((uid) => uid !== undefined),
      );
      const before = present.get(name);
      if (before !== undefined && isSame(scorerFileOf(before, []), { ...value, agents: [] })) {
        if (isSame(before.agentUids, settings.agentUids)) continue;
      }
      try {
        const saved = await this.scorers.save(tx, factory, settings);
        if (saved === 'limit_reached')
          errors.push(error([], 'is one too many: the team has as many scorers as it may have'));
        else plan.push({ action: before === undefined ? 'create' : 'update', kind: 'scorer', name });
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.errors === undefined) throw problem;
        errors.push(
          ...problem.errors.map(({ field, message }) => error(FIELDS[field] ?? field.split('.'), message)),
        );
      }
    }
    return { plan, errors };
  }
}
