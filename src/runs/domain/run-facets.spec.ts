import { describe, expect, it } from '@jest/globals';
import { createdFacets, filterFacets, runFacets } from './run-facets.js';

const RUN = {
  team_uid: 't',
  owner_uid: null,
  creator_uid: 'c',
  executor_uid: 'e',
  source: 'LOCAL',
  environment_id: null,
  skill_spec: 's'.repeat(1024),
  config_name: 'n',
  model_id: 'm',
  schedule_id: 'w',
  ancestor_ids: ['p', 'q'],
  metadata: { key: 'v'.repeat(256), constructor: '' },
};

it('a run has the tokens of every filter that it matches, however long', () => {
  const facets = runFacets(RUN);
  const wanted = filterFacets({
    creatorUid: 'c',
    executorUid: 'e',
    source: 'LOCAL',
    executionLocation: 'LOCAL',
    environmentId: null,
    skillSpec: RUN.skill_spec,
    name: 'n',
    modelId: 'm',
    scheduleId: 'w',
    ancestorRunId: 'q',
    metadata: Object.entries(RUN.metadata),
  });
  expect(wanted).toHaveLength(12);
  expect(facets).toEqual(expect.arrayContaining(wanted));
  expect(Math.max(...facets.map((token) => Buffer.byteLength(token)))).toBeLessThanOrEqual(200);
  expect(facets).not.toEqual(expect.arrayContaining(filterFacets({ skillSpec: 's'.repeat(1023) })));
});

describe('the tokens of a range', () => {
  const now = new Date('2026-11-21T09:30:00Z');
  const tokens = (after: string | undefined, before?: string) =>
    createdFacets({ after: after && new Date(after), before: before && new Date(before), now } as never);

  it.each<[string | undefined, string | undefined, string[] | undefined]>([
    ['2026-02-28T23:59:59.999Z', '2026-03-01T00:00:00Z', ['day:2026-02-28', 'day:2026-03-01']],
    ['2026-11-21T00:00:00Z', undefined, ['day:2026-11-21']],
    ['2026-09-30T12:00:00Z', '2026-11-02T00:00:00Z', ['month:2026-09', 'month:2026-10', 'month:2026-11']],
    ['2026-11-20T00:00:00Z', '9999-01-01T00:00:00Z', ['day:2026-11-20', 'day:2026-11-21', 'day:2026-11-22']],
    ['2027-11-20T00:00:00Z', undefined, []],
    ['2000-01-01T00:00:00Z', undefined, undefined],
    ['0001-01-01T00:00:00Z', '9999-01-01T00:00:00Z', undefined],
    [undefined, '2026-11-02T00:00:00Z', undefined],
  ])('from %s to %s are %j', (after, before, expected) => {
    expect(tokens(after, before)).toEqual(expected);
  });
});
