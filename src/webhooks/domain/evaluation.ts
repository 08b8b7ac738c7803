import type { EvaluationOutcome } from './delivery.js';

/** What an automation made of a delivery. */
export interface Evaluation {
  automationUid: string;
  outcome: EvaluationOutcome;
  /** The run that it started. */
  runId?: string;
  /** Where its payload filter failed. */
  failedPath?: string;
  reason?: string;
}

/**
 * What became of a delivery for one automation of its plan, as it is stored: the number of the path at which the filter failed, or
 * one of these.
 */
export const OUTCOME = {
  /** What came of the match is a row of its own. */
  matched: -1,
  webhookDeleted: -2,
  /** We failed, again and again. */
  gaveUp: -3,
} as const;

/** Most paths of one plan: as many as a number of two bytes can tell apart. */
export const MAX_PATHS = 32_767;

/** What the deliveries of a webhook are held against. */
export interface EvaluationPlan {
  webhookUid: string;
  /** Of the factory's automations. */
  revision: string;
  automationUids: readonly string[];
  /** The paths at which filters can fail, each once. */
  failedPaths: readonly string[];
}
