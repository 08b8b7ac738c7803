import type { Harness } from '../../identities/index.js';
import type { EndedRun, RunSource } from '../../runs/index.js';
import type { Label, Scorer } from './scorer.js';
import { isSampled } from './sampling.js';

/** What a judge thinks with, every field resolved. */
export interface Judge {
  modelId?: string;
  harness: Harness;
}

/** The facts of a run that its scores keep, for lists of results to be filtered by. */
export interface GradedRun {
  id: string;
  teamUid: string;
  /** Whoever executed it. */
  agentUid: string;
  modelId?: string;
  skillSpec?: string;
}

/** What decides whether a scorer grades a run, and by which judge. */
export type GradingScorer = Pick<Scorer, 'id' | 'agentUids' | 'samplingRate' | 'modelId' | 'harness'> & {
  teamUid: string;
};

/** A run that one judge is to grade by these scorers. */
export interface NewEvaluation {
  id: string;
  run: GradedRun;
  judge: Judge;
  scorerIds: number[];
  /** Undefined: it was sampled. */
  requestedBy?: string;
}

/** An evaluation whose judge has no run yet. */
export interface WaitingEvaluation {
  id: string;
  teamUid: string;
  runId: string;
  judge: Judge;
  requestedBy?: string;
  scorers: { id: number; name: string; rubric: string; labels: Label[] }[];
}

/**
 * The run as it is graded when it has ended; undefined for one that is not: of a person, one that waits for somebody, or one that a
 * judge, or whatever a judge has started, stands behind. Those who grade are not graded, or there would be no end to it.
 */
export function gradedRun({ teamUid, lineage, state, ...run }: EndedRun): GradedRun | undefined {
  if (teamUid === undefined || state === 'BLOCKED' || isOfJudge(lineage)) return undefined;
  return { id: run.id, teamUid, agentUid: run.executorUid, modelId: run.modelId, skillSpec: run.skillSpec };
}

/** Whether a judge, or whatever a judge has started, stands behind a run. */
export const isOfJudge = (lineage: RunSource[]): boolean => lineage.includes('RUN_SCORER');

/** Those of the team's scorers that grade the run by themselves. */
export const sampledScorers = (run: GradedRun, scorers: GradingScorer[]): GradingScorer[] =>
  scorers.filter(
    ({ id, teamUid, agentUids, samplingRate }) =>
      teamUid === run.teamUid && agentUids.includes(run.agentUid) && isSampled(run.id, id, samplingRate),
  );

/** One group for each judge model and harness: they are dispatched together. */
export function groupByJudge(
  scorers: GradingScorer[],
  judgeOf: (scorer: GradingScorer) => Judge,
): Pick<NewEvaluation, 'judge' | 'scorerIds'>[] {
  const groups = new Map<string, Pick<NewEvaluation, 'judge' | 'scorerIds'>>();
  for (const scorer of scorers) {
    const judge = judgeOf(scorer);
    const { type, model_id: harnessModel, reasoning_level: reasoning } = judge.harness;
    const key = JSON.stringify([judge.modelId, type, harnessModel, reasoning]);
    const group = groups.get(key) ?? { judge, scorerIds: [] };
    group.scorerIds.push(scorer.id);
    groups.set(key, group);
  }
  return [...groups.values()];
}
