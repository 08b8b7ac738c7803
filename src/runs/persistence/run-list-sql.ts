import { createdFacets, filterFacets, hasOwnFacet, scopeFacet } from '../domain/run-facets.js';
import type { RunFilter, RunOrder } from '../domain/run-filter.js';
import { signatureBits } from '../domain/run-signature.js';
import type { RunVisibility } from './run.read-model.js';

/** A place in an order, as text: runs without a skill stand in the second part of the order by agent, all else in the first. */
export interface RunPosition {
  part: number;
  key: string;
  id: string;
}

/** A page of a list. */
export interface RunListRequest extends RunOrder {
  visibility: RunVisibility;
  filter: RunFilter;
  /** The place of the last run of the page before. */
  after?: RunPosition;
  /** Runs that changed after this moment are left out. */
  asOf?: string;
  limit: number;
}

/** A request with what has to be known to put it into SQL. */
export interface RunListQuery extends RunListRequest {
  /** For each word of the search those that it may stand for; undefined without a search. */
  words: string[][] | undefined;
  /** Whether the owners are worth asking the index of tokens for: not where most runs are theirs, and their list is long. */
  ownersAreFew: boolean;
  now: Date;
}

/** As in the indexes `runs_*_long_lived`. */
const LONG_LIVED_MS = 3_600_000;
const IS_LONG_LIVED = `r.updated_at - r.created_at > interval '01:00:00'`;

/** A part of an order that one index yields. */
export interface Part {
  /** A column of `runs r` or `run_search s`. */
  key: string;
  type: 'timestamptz' | 'text';
  of: 'runs' | 'search';
  where?: string;
}

/** A part of an order of time. */
export interface Stretch {
  earliest: Date;
  latest: Date;
}

/** The parameters of a statement that is put together. */
class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown, type: string): string {
    this.values.push(value);
    return `$${String(this.values.length)}::${type}`;
  }
}

/** How many runs were looked at one by one; in an order of time from when to when. */
export interface Looked {
  scanned: number;
  earliest?: Date | null;
  latest?: Date | null;
}

/** A statement in parts. */
export interface PageSql {
  /** `page`: key and id of what is listed. */
  ctes: string;
  /** Selects one row of {@link Looked}. */
  looked: string;
  parameters: Parameters;
  /** The key as text. */
  key: string;
}

/** Whose runs are listed, teams and persons alike. */
export const scopesOf = ({ teamUid, ownerUid }: RunVisibility): string[] =>
  [teamUid, ownerUid].filter((uid) => uid !== null);

/** Long-lived runs that are looked at beside those of a stretch; if there are more, the stretch says nothing. */
export const MAX_LONG_LIVED = 4_000;

/** A time as the API writes it. */
export const timeText = (time: string): string =>
  `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const keyText = ({ type }: Part): string => (type === 'text' ? 'p.key' : timeText('p.key'));

/** What stands behind the cursor in the direction of the list. */
function keysetSql(
  { after, order }: RunListRequest,
  part: Part,
  key: string,
  id: string,
  p: Parameters,
): string[] {
  if (after === undefined) return [];
  const operator = order === 'asc' ? '>' : '<';
  return [`(${key}, ${id}) ${operator} (${p.add(after.key, part.type)}, ${p.add(after.id, 'uuid')})`];
}

/** Conditions on `runs r`, one of which holds for a run that may be seen. */
const ownersSql = ({ teamUid, ownerUid, runId }: RunVisibility, p: Parameters): string[] => [
  ...(teamUid === null ? [] : [`r.team_uid = ${p.add(teamUid, 'uuid')}`]),
  ...(ownerUid === null ? [] : [`r.owner_uid = ${p.add(ownerUid, 'uuid')}`]),
  ...(runId === null ? [] : [`r.id = ${p.add(runId, 'uuid')}`]),
];

/** Conditions on `runs r` of what changes: the state, and when it last changed. */
function changingSql({ filter, asOf }: RunListRequest, p: Parameters): string[] {
  return [
    ...(filter.states ? [`r.state = ANY (${p.add(filter.states, 'text[]')})`] : []),
    ...(filter.updatedAfter ? [`r.updated_at > ${p.add(filter.updatedAfter, 'timestamptz')}`] : []),
    ...(asOf === undefined ? [] : [`r.updated_at <= ${p.add(asOf, 'timestamptz')}`]),
  ];
}

/** Conditions on `runs r` of what never changes. */
function lastingSql(filter: RunFilter, p: Parameters): string[] {
  const equal = (column: string, value: string | undefined, type = 'text'): string[] =>
    value === undefined ? [] : [`r.${column} = ${p.add(value, type)}`];
  return [
    ...equal('config_name', filter.name),
    ...equal('model_id', filter.modelId),
    ...equal('creator_uid', filter.creatorUid, 'uuid'),
    ...equal('executor_uid', filter.executorUid, 'uuid'),
    ...equal('source', filter.source),
    ...equal('skill_spec', filter.skillSpec),
    ...equal('schedule_id', filter.scheduleId, 'uuid'),
    ...(filter.executionLocation === undefined
      ? []
      : [`r.source ${filter.executionLocation === 'LOCAL' ? '=' : '<>'} 'LOCAL'`]),
    ...(filter.environmentId === null
      ? ['r.environment_id IS NULL']
      : equal('environment_id', filter.environmentId)),
    ...(filter.ancestorRunId === undefined
      ? []
      : [`${p.add(filter.ancestorRunId, 'uuid')} = ANY (r.ancestor_ids)`]),
    ...(filter.metadata ?? []).map(
      ([key, value]) => `r.metadata ->> ${p.add(key, 'text')} = ${p.add(value, 'text')}`,
    ),
    ...createdSql(filter, 'r.created_at', p),
  ];
}

const createdSql = ({ createdAfter, createdBefore }: RunFilter, column: string, p: Parameters): string[] => [
  ...(createdAfter ? [`${column} > ${p.add(createdAfter, 'timestamptz')}`] : []),
  ...(createdBefore ? [`${column} < ${p.add(createdBefore, 'timestamptz')}`] : []),
];

/** Conditions on `run_search s`: a word of each group. */
const wordsSql = (words: string[][] | undefined, p: Parameters): string[] =>
  (words ?? []).map((group) => `s.words && ${p.add(group, 'text[]')}`);

/** A group of more words is not looked for in signatures: one of them would seem to be in each. */
const MAX_SIGNED_WORDS = 6;

/** Conditions on the signature of `run_search s` that whatever matches fulfils, and little else. */
function signatureSql({ filter, words }: RunListQuery): string[] {
  const mayHave = (token: string): string =>
    signatureBits(token)
      .map((bit) => `get_bit(s.signature, ${String(bit)}) = 1`)
      .join(' AND ');
  return [
    ...filterFacets({ ...filter, artifactType: undefined }).map(mayHave),
    ...(words ?? [])
      .filter((group) => group.length <= MAX_SIGNED_WORDS)
      .map((group) => `(${group.map(mayHave).join(' OR ')})`),
  ];
}

/** Whether the entries of an index in the order of the list tell most of what does not match. */
export const isToldByEntries = (query: RunListQuery, part: Part): boolean =>
  part.of === 'search' && signatureSql(query).length > 0;

/**
 * The filter in two halves: `matches`, a column that is read with the order, and `filtered`, which goes on from there `x`.
 *
 * With the order the row is at hand, of the one table; of the other it is looked up where that leaves a run. If the signature can tell, only
 * the entry of the index is read with the order, and both rows are looked up.
 */
function filterSql(
  query: RunListQuery,
  of: Part['of'],
  p: Parameters,
): { matches: string; filtered: string } {
  const { filter, words } = query;
  const artifact =
    filter.artifactType === undefined
      ? []
      : [`s.facets @> ${p.add(filterFacets({ artifactType: filter.artifactType }), 'text[]')}`];
  const ofSearch = [...wordsSql(words, p), ...artifact];
  const ofRuns = [...changingSql(query, p), ...lastingSql(filter, p)];
  const signature = of === 'search' ? signatureSql(query) : [];
  const atHand = of === 'runs' ? ofRuns : signature.length > 0 ? signature : ofSearch;
  const lookUp = (row: string, conditions: string[], alias: string): string[] =>
    conditions.length === 0 || conditions === atHand
      ? []
      : [`CROSS JOIN LATERAL (SELECT 1 FROM ${row} AND ${conditions.join(' AND ')} OFFSET 0) ${alias}`];
  return {
    matches: atHand.length === 0 ? '' : `, ${atHand.join(' AND ')} AS matches`,
    filtered: [
      ...lookUp('runs r WHERE r.id = x.id', ofRuns, 'matching_run'),
      ...lookUp('run_search s WHERE s.run_id = x.id', ofSearch, 'matching_search'),
      ...(atHand.length === 0 ? [] : ['WHERE x.matches']),
    ].join(' '),
  };
}

/** The first of several lanes, in one order. Each by itself: PostgreSQL sorts a UNION ALL whose branches differ in the first column of their index. */
const mergeSql = (lanes: string[], direction: string, depth: number): string =>
  `SELECT * FROM (${lanes.map((lane) => `(${lane} ORDER BY ${direction} LIMIT ${String(depth)})`).join(' UNION ALL ')}) lanes
    ORDER BY ${direction} LIMIT ${String(depth)}`;

/** Reads an index in the order of the list, no deeper than `depth`, and filters what it yields. */
export function scanSql(query: RunListQuery, part: Part, depth: number): PageSql {
  const p = new Parameters();
  const { order, limit } = query;
  const { matches, filtered } = filterSql(query, part.of, p);
  const lanes = part.of === 'runs' ? runLanes(query, part, matches, p) : searchLanes(query, part, matches, p);
  const direction = `key ${order}, id ${order}`;
  const looked =
    part.type === 'text'
      ? 'count(*)::int AS scanned'
      : 'count(*)::int AS scanned, min(key) AS earliest, max(key) AS latest';
  return {
    key: keyText(part),
    parameters: p,
    // Not materialized: the page ends the scan. What it would have come to is looked at only where it holds too little.
    looked: `SELECT ${looked} FROM scanned WHERE (SELECT count(*) FROM page) < ${String(limit)}`,
    ctes: `scanned AS NOT MATERIALIZED (
         ${mergeSql(lanes, direction, depth)}
       ), page AS MATERIALIZED (
         SELECT x.key, x.id FROM scanned x ${filtered} ORDER BY ${direction} LIMIT ${String(limit)}
       )`,
  };
}

/** One lane for each owner, and for each state that is asked for: together they are merged in order from one index each. */
function runLanes(request: RunListRequest, part: Part, matches: string, p: Parameters): string[] {
  const { visibility, filter, order, asOf } = request;
  const owners = ownersSql(visibility, p);
  const states = filter.states?.map((state) => [`r.state = ${p.add(state, 'text')}`]) ?? [[]];
  const lane = (conditions: string[]): string =>
    `SELECT ${part.key} AS key, r.id${matches} FROM runs r WHERE ${conditions.join(' AND ')}`;
  if (part.type === 'text') {
    const bounds = keysetSql(request, part, part.key, 'r.id', p);
    return owners.flatMap((owner) => states.map((state) => lane([owner, ...state, ...bounds])));
  }
  const bounds = [
    ...keysetSql(request, part, part.key, 'r.id', p),
    // What was created after a moment did not change before it.
    ...[filter.updatedAfter, filter.createdAfter]
      .filter((bound) => bound !== undefined)
      .map((bound) => `r.updated_at > ${p.add(bound, 'timestamptz')}`),
    ...(asOf === undefined ? [] : [`r.updated_at <= ${p.add(asOf, 'timestamptz')}`]),
  ];
  if (filter.createdBefore === undefined || order === 'asc') {
    return owners.flatMap((owner) => states.map((state) => lane([owner, ...state, ...bounds])));
  }
  // Runs that were created before a moment changed soon after it at the latest, but for the long-lived ones.
  const created = p.add(filter.createdBefore, 'timestamptz');
  const soonAfter = p.add(new Date(filter.createdBefore.getTime() + LONG_LIVED_MS), 'timestamptz');
  const late = [`r.updated_at >= ${soonAfter}`, IS_LONG_LIVED, `r.created_at < ${created}`];
  return owners.flatMap((owner) => [
    ...states.map((state) => lane([owner, ...state, ...bounds, `r.updated_at < ${soonAfter}`])),
    lane([owner, ...bounds, ...late]),
  ]);
}

function searchLanes(request: RunListRequest, part: Part, matches: string, p: Parameters): string[] {
  const { visibility, filter, sort } = request;
  const conditions = [
    ...(part.where === undefined ? [] : [part.where]),
    ...keysetSql(request, part, part.key, 's.run_id', p),
    ...(sort === 'created_at' ? createdSql(filter, 's.created_at', p) : []),
  ];
  const owners =
    visibility.runId === null
      ? scopesOf(visibility).map((uid) => `s.scope_uid = ${p.add(uid, 'uuid')}`)
      : [`s.run_id = ${p.add(visibility.runId, 'uuid')}`];
  return owners.map(
    (owner) =>
      `SELECT ${part.key} AS key, s.run_id AS id${matches} FROM run_search s WHERE ${[owner, ...conditions].join(' AND ')}`,
  );
}

export const NOTHING_LOOKED_AT = 'SELECT 0 AS scanned';

/** Finds all that match, and sorts them. */
export function matchSql(query: RunListQuery, part: Part): PageSql {
  const p = new Parameters();
  return {
    key: keyText(part),
    parameters: p,
    looked: NOTHING_LOOKED_AT,
    ctes: `page AS MATERIALIZED (${matchesSql(query, part, p)})`,
  };
}

/**
 * The same for what was created in a stretch of time, by its days or months.
 *
 * In the order of changes the page holds as well what changed in the stretch and was created before it. Those runs are long-lived, and
 * `scanned`: between the beginning of the page and its end, as the others leave it.
 *
 * @returns undefined where the stretch has too many days and months to be asked for
 */
export function stretchSql(query: RunListQuery, part: Part, stretch: Stretch): PageSql | undefined {
  const p = new Parameters();
  const { filter, visibility, order, limit, now } = query;
  const byChange = part.of === 'runs';
  const after = new Date(stretch.earliest.getTime() - (byChange ? LONG_LIVED_MS : 0) - 1);
  const before = new Date(stretch.latest.getTime() + 1);
  const created = {
    createdAfter:
      filter.createdAfter !== undefined && filter.createdAfter > after ? filter.createdAfter : after,
    createdBefore:
      filter.createdBefore !== undefined && filter.createdBefore < before ? filter.createdBefore : before,
  };
  if (createdFacets({ after: created.createdAfter, before: created.createdBefore, now }) === undefined)
    return undefined;
  const recent = matchesSql({ ...query, filter: { ...filter, ...created } }, part, p);
  if (!byChange) {
    return {
      key: keyText(part),
      parameters: p,
      looked: NOTHING_LOOKED_AT,
      ctes: `page AS MATERIALIZED (${recent})`,
    };
  }
  const { matches, filtered } = filterSql(query, 'runs', p);
  const direction = `key ${order}, id ${order}`;
  const bounds = [
    IS_LONG_LIVED,
    `r.created_at <= ${p.add(after, 'timestamptz')}`,
    `r.updated_at BETWEEN ${p.add(stretch.earliest, 'timestamptz')} AND ${p.add(stretch.latest, 'timestamptz')}`,
    order === 'desc'
      ? 'r.updated_at >= (SELECT min(key) FROM recent)'
      : 'r.updated_at <= (SELECT max(key) FROM recent)',
    `(SELECT count(*) FROM recent) = ${String(limit)}`,
    ...keysetSql(query, part, part.key, 'r.id', p),
  ];
  const lanes = ownersSql(visibility, p).map(
    (owner) =>
      `SELECT r.updated_at AS key, r.id${matches} FROM runs r WHERE ${[owner, ...bounds].join(' AND ')}`,
  );
  return {
    key: keyText(part),
    parameters: p,
    looked: 'SELECT count(*)::int AS scanned FROM scanned',
    ctes: `recent AS MATERIALIZED (${recent}), scanned AS MATERIALIZED (
         ${mergeSql(lanes, direction, MAX_LONG_LIVED)}
       ), page AS MATERIALIZED (
         SELECT * FROM (SELECT key, id FROM recent UNION ALL SELECT x.key, x.id FROM scanned x ${filtered}) listed
          ORDER BY ${direction} LIMIT ${String(limit)}
       )`,
  };
}

/**
 * Key and id of the first that match: found by their tokens, else by their state and time, and sorted. The place of the cursor is compared
 * outside of a fence (OFFSET 0): within reach the planner would take it for the most selective condition and walk the index of the order.
 */
function matchesSql(query: RunListQuery, part: Part, p: Parameters): string {
  const { filter, order, limit, visibility, words, ownersAreFew, now } = query;
  const tokens = filterFacets(filter);
  const created = createdFacets({ after: filter.createdAfter, before: filter.createdBefore, now });
  const changing = changingSql(query, p);
  const select = `SELECT ${part.key} AS key,`;
  let found: string;
  if (tokens.length > 0 || words !== undefined || changing.length === 0) {
    const indexed = tokens.length > 0 || words !== undefined;
    const ofSearch = [
      ...(part.where === undefined ? [] : [part.where]),
      ...createdSql(filter, 's.created_at', p),
      ...wordsSql(words, p),
    ];
    if (tokens.length > 0) ofSearch.push(`s.facets @> ${p.add(tokens, 'text[]')}`);
    if (indexed && created !== undefined) ofSearch.push(`s.facets && ${p.add(created, 'text[]')}`);
    if (visibility.runId !== null) ofSearch.push(`s.run_id = ${p.add(visibility.runId, 'uuid')}`);
    else if (indexed && (!ownersAreFew || hasOwnFacet(filter))) {
      // Not to be found by: its list would be longer than all that is left without it.
      ofSearch.push(`(s.scope_uid = ANY (${p.add(scopesOf(visibility), 'uuid[]')})) IS TRUE`);
    } else if (indexed) ofSearch.push(`s.facets && ${p.add(scopesOf(visibility).map(scopeFacet), 'text[]')}`);
    else ofSearch.push(`s.scope_uid = ANY (${p.add(scopesOf(visibility), 'uuid[]')})`);
    if (part.of === 'runs') {
      // The ids as one array: its scan of the primary key reads each page once, where a join would begin at the root for each.
      const ids = `ARRAY (SELECT s.run_id FROM run_search s WHERE ${ofSearch.join(' AND ')})`;
      found = `${select} r.id FROM runs r WHERE ${[`r.id = ANY (${ids})`, ...changing].join(' AND ')}`;
    } else {
      const ofRuns = ['r.id = s.run_id', ...changing].join(' AND ');
      found = `${select} s.run_id AS id FROM run_search s
        ${changing.length > 0 ? `CROSS JOIN LATERAL (SELECT 1 FROM runs r WHERE ${ofRuns} OFFSET 0) r` : ''}
        WHERE ${ofSearch.join(' AND ')}`;
    }
  } else {
    const owners = ownersSql(visibility, p).join(' OR ');
    const ofRuns = [`(${owners})`, ...createdSql(filter, 'r.created_at', p), ...changing].join(' AND ');
    const ids = `ARRAY (SELECT r.id FROM runs r WHERE ${ofRuns})`;
    found =
      part.of === 'runs'
        ? `${select} r.id FROM runs r WHERE ${ofRuns}`
        : `${select} s.run_id AS id FROM run_search s WHERE ${[`s.run_id = ANY (${ids})`, ...(part.where === undefined ? [] : [part.where])].join(' AND ')}`;
  }
  const keyset = keysetSql(query, part, 'm.key', 'm.id', p);
  return `SELECT m.key, m.id FROM (${found} OFFSET 0) m
          ${keyset.length > 0 ? `WHERE ${keyset.join(' AND ')}` : ''} ORDER BY m.key ${order}, m.id ${order} LIMIT ${String(limit)}`;
}
