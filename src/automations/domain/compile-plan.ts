import type { EvaluationPlan } from '../../webhooks/index.js';
import type { Trigger } from './automation.js';
import { type CompiledFilter, compileFilter, MATCHED } from './payload-filter.js';

/** The outcomes of an automation that are no number of a path. */
export interface PlanCodes {
  matched: number;
  /** The filter cannot be used. */
  broken: number;
  maxPaths: number;
}

/** A plan whose filters can be asked. */
export interface CompiledPlan extends EvaluationPlan {
  /** What becomes of a payload for the automation with this number: see {@link PlanCodes}; else the number of the path that failed. */
  outcome(automation: number, payload: unknown): number;
}

/** Longer ones are cut off. */
const MAX_PATH_CHARACTERS = 256;

/**
 * Compiles the triggers of the automations that select a webhook. An automation matches when any of its triggers does; where none
 * does, it failed where its first one failed.
 */
export function compilePlan(
  { webhookUid, revision }: { webhookUid: string; revision: string },
  automations: { uid: string; triggers: Trigger[] }[],
  codes: PlanCodes,
): CompiledPlan {
  const paths = new Map<string, number>();
  const numberOf = (path: string): number => {
    const kept = path.slice(0, MAX_PATH_CHARACTERS).toWellFormed();
    const number = paths.get(kept) ?? Math.min(paths.size, codes.maxPaths - 1);
    if (number === paths.size) paths.set(kept, number);
    return number;
  };
  const outcomes = automations.map(({ triggers }) => {
    const filters = triggers.flatMap((trigger) => filterFor(trigger, webhookUid));
    const usable = filters.filter((filter) => filter !== undefined);
    const pathsOfFirst = (usable[0]?.failurePoints ?? []).map(({ path }) => numberOf(path));
    return (payload: unknown): number => {
      let first = MATCHED;
      for (const [index, filter] of usable.entries()) {
        const failure = filter.firstFailure(payload);
        if (failure === MATCHED) return codes.matched;
        if (index === 0) first = failure;
      }
      return usable.length < filters.length ? codes.broken : (pathsOfFirst[first] ?? codes.broken);
    };
  });
  return {
    webhookUid,
    revision,
    automationUids: automations.map(({ uid }) => uid),
    failedPaths: [...paths.keys()],
    outcome: (automation, payload) => outcomes[automation]?.(payload) ?? codes.broken,
  };
}

/** @returns nothing where the trigger does not select the webhook; undefined where its filter cannot be used */
function filterFor(trigger: Trigger, webhookUid: string): (CompiledFilter | undefined)[] {
  if (trigger.provider !== 'webhook' || !trigger.filter.webhook_ids.includes(webhookUid)) return [];
  const compiled = compileFilter(trigger.filter.payload ?? {});
  return [compiled.outcome === 'compiled' ? compiled.filter : undefined];
}
