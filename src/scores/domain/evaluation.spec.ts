import { describe, expect, it } from '@jest/globals';
import type { EndedRun } from '../../runs/index.js';
import { gradedRun, type GradingScorer, groupByJudge, sampledScorers } from './evaluation.js';

const RUN: EndedRun = {
  id: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11',
  state: 'SUCCEEDED',
  teamUid: 'team',
  executorUid: 'agent',
  modelId: 'model',
  skillSpec: undefined,
  lineage: ['API'],
};

const scorer = (id: number, change: Partial<GradingScorer> = {}): GradingScorer => ({
  id,
  teamUid: 'team',
  agentUids: ['agent', 'another'],
  samplingRate: 1,
  ...change,
});

describe('a run that has ended', () => {
  it.each<EndedRun['state']>(['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'])(
    'is graded where it is %s',
    (state) => {
      expect(gradedRun({ ...RUN, state })).toEqual({
        id: RUN.id,
        teamUid: 'team',
        agentUid: 'agent',
        modelId: 'model',
        skillSpec: undefined,
      });
    },
  );

  it.each<[string, Partial<EndedRun>]>([
    ['waits for a person', { state: 'BLOCKED' }],
    ['is a person’s', { teamUid: undefined }],
    ['is a judge’s', { lineage: ['RUN_SCORER', 'API'] }],
    [
      'was started by what a judge has started',
      { lineage: ['ORCHESTRATION', 'ORCHESTRATION', 'RUN_SCORER'] },
    ],
  ])('is not graded where it %s', (_, change) => {
    expect(gradedRun({ ...RUN, ...change })).toBeUndefined();
  });

  it('is graded by the scorers of its team, for its agent, that sample it', () => {
    const run = gradedRun(RUN)!;
    const scorers = [
      scorer(1),
      scorer(2, { teamUid: 'other' }),
      scorer(3, { agentUids: ['another'] }),
      scorer(4, { samplingRate: 0 }),
      scorer(5),
    ];
    expect(sampledScorers(run, scorers).map(({ id }) => id)).toEqual([1, 5]);
  });
});

describe('judges', () => {
  it('are one for each model, harness and reasoning level', () => {
    const scorers = [
      scorer(1),
      scorer(2, { modelId: 'b' }),
      scorer(3),
      scorer(4, { harness: { type: 'claude' } }),
      scorer(5, { harness: { reasoning_level: 'high', type: 'claude' } }),
      scorer(6, { harness: { type: 'claude', reasoning_level: 'high' } }),
      scorer(7, { harness: { type: 'claude', model_id: 'x' } }),
    ];
    const groups = groupByJudge(scorers, ({ modelId, harness }) => ({ modelId, harness: harness ?? {} }));
    expect(groups.map(({ scorerIds }) => scorerIds)).toEqual([[1, 3], [2], [4], [5, 6], [7]]);
  });
});
