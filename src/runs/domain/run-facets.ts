import { createHash } from 'node:crypto';
import { DAY } from '../../kernel/clock.js';
import { EMPTY_ENVIRONMENT, type RunFilter } from './run-filter.js';

/** The facts of a run that never change and that lists are filtered by. */
export interface RunFacts {
  team_uid: string | null;
  owner_uid: string | null;
  creator_uid: string;
  executor_uid: string;
  source: string;
  environment_id: string | null;
  skill_spec: string | null;
  config_name: string | null;
  model_id: string | null;
  schedule_id?: string | null;
  ancestor_ids?: string[];
  metadata: Record<string, string>;
}

/** An index entry of PostgreSQL holds 2.7 KB; what is longer than this is indexed by its hash. */
const MAX_TOKEN_BYTES = 200;

/** Wider ranges are indexed by month, and those that are wider still not at all: their many tokens would cost more than they save. */
const MAX_DAY_TOKENS = 32;
const MAX_MONTH_TOKENS = 13;

const facet = (kind: string, value: string): string => {
  const token = `${kind}:${value}`;
  if (Buffer.byteLength(token) <= MAX_TOKEN_BYTES) return token;
  return `${kind}#${createHash('sha256').update(value).digest('hex')}`;
};

const pairFacet = (key: string, value: string): string => facet('metadata', `${key}=${value}`);

/** The token of whoever may see a run. @param uid of the team or person that owns it */
export const scopeFacet = (uid: string): string => facet('scope', uid);

/** The token of a run that has an artifact of the type. */
export const artifactFacet = (artifactType: string): string => facet('artifact', artifactType);

/** The tokens of a run, but for those of its creation time, which the database adds. */
export function runFacets(run: RunFacts): string[] {
  const optional = (kind: string, value: string | null | undefined): string[] =>
    value === null || value === undefined ? [] : [facet(kind, value)];
  return [
    ...optional('scope', run.team_uid ?? run.owner_uid),
    facet('creator', run.creator_uid),
    facet('executor', run.executor_uid),
    facet('source', run.source),
    facet('location', run.source === 'LOCAL' ? 'LOCAL' : 'REMOTE'),
    facet('environment', run.environment_id ?? EMPTY_ENVIRONMENT),
    ...optional('skill', run.skill_spec),
    ...optional('schedule', run.schedule_id),
    ...optional('name', run.config_name),
    ...optional('model', run.model_id),
    ...(run.ancestor_ids ?? []).map((id) => facet('ancestor', id)),
    ...Object.entries(run.metadata).map(([key, value]) => pairFacet(key, value)),
  ];
}

/** The tokens that a run must have, all of them, to match the filter. States, changes, words and times are not among them. */
export function filterFacets(filter: RunFilter): string[] {
  const optional = (kind: string, value: string | undefined): string[] =>
    value === undefined ? [] : [facet(kind, value)];
  return [
    ...optional('name', filter.name),
    ...optional('model', filter.modelId),
    ...optional('creator', filter.creatorUid),
    ...optional('executor', filter.executorUid),
    ...optional('source', filter.source),
    ...optional('location', filter.executionLocation),
    ...optional('environment', filter.environmentId === null ? EMPTY_ENVIRONMENT : filter.environmentId),
    ...optional('skill', filter.skillSpec),
    ...optional('schedule', filter.scheduleId),
    ...optional('ancestor', filter.ancestorRunId),
    ...(filter.metadata ?? []).map(([key, value]) => pairFacet(key, value)),
    ...optional('artifact', filter.artifactType),
  ];
}

/**
 * Whether the filter names something that is of one team or person, as good as always. Who may see the run needs no token then: its list
 * in the index, as long as the owner has runs, would be read for nothing.
 */
export const hasOwnFacet = (filter: RunFilter): boolean =>
  [filter.creatorUid, filter.executorUid, filter.environmentId, filter.scheduleId, filter.ancestorRunId].some(
    (value) => value !== undefined && value !== null,
  );

/**
 * Tokens of which a run that was created in the range has one, by day or by month in UTC. They are coarser than the range: whoever
 * uses them compares the time itself as well. Undefined for a range that is open at its beginning or too wide.
 *
 * @param now the end of a range that is open at its end
 */
export function createdFacets(range: { after?: Date; before?: Date; now: Date }): string[] | undefined {
  if (range.after === undefined) return undefined;
  const first = range.after.getTime();
  // A clock that is ahead of the database's by less than a day loses nothing.
  const last = Math.min((range.before ?? range.now).getTime(), range.now.getTime() + DAY);
  if (last < first) return [];
  const days = new Set<string>();
  const months = new Set<string>();
  for (let time = first; months.size <= MAX_MONTH_TOKENS; time = Math.min(time + DAY, last)) {
    const day = new Date(time).toISOString().slice(0, 10);
    days.add(`day:${day}`);
    months.add(`month:${day.slice(0, 7)}`);
    if (time === last) break;
  }
  if (days.size <= MAX_DAY_TOKENS) return [...days];
  return months.size <= MAX_MONTH_TOKENS ? [...months] : undefined;
}
