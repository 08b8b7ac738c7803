import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../kernel/clock.js';
import { Database } from '../../kernel/persistence/database.js';
import { filterFacets } from '../domain/run-facets.js';
import type { RunFilter, RunOrder } from '../domain/run-filter.js';
import type { RunView } from '../domain/run-view.js';
import { termsOf } from '../domain/search-words.js';
import {
  isToldByEntries,
  type Looked,
  matchSql,
  MAX_LONG_LIVED,
  NOTHING_LOOKED_AT,
  type PageSql,
  type Part,
  type RunListQuery,
  type RunListRequest,
  type RunPosition,
  scanSql,
  scopesOf,
  type Stretch,
  stretchSql,
  timeText,
} from './run-list-sql.js';
import { OwnerShares } from './owner-shares.js';
import { RunSearch } from './run-search.js';
import { RUN_COLUMNS, RUN_JOINS } from './run.read-model.js';

/** A run with its place, and the moment at which it was read, as text. */
export type ListedRun = RunView & { position: RunPosition; readAt: string };

/**
 * So many runs are filtered in the order of the list at first. Then, where the index of tokens can be asked for a stretch of time alone, it
 * is; elsewhere, if enough have matched to expect a page of so many, so many are filtered. What is left is asked of the whole index.
 */
const SCANS = [400, 6_000] as const;
/** The same where the entries of the order's index tell what does not match: they cost a tenth of the runs. */
const SCANS_OF_ENTRIES = [1_000, 8_000] as const;
/** An owner of this share of all runs is not asked of the index of tokens: to read its list would cost more than to skip others' runs. */
const MOST_RUNS = 0.5;

/** So many times a page, where that is more. */
const SECOND_SCAN_OF_PAGE = 40;

/** A stretch of time is made so long that so many times a page are expected in it. */
const STRETCH_OF_PAGES = 3;
/** Where none of the first runs matched: so many times as long as theirs. */
const STRETCH_OF_SCANS = 250;
/** One that holds less was expected to hold more: the next is so many times as long. */
const FARTHER = 8;

const PARTS: Record<RunOrder['sort'], Part[]> = {
  updated_at: [{ key: 'r.updated_at', type: 'timestamptz', of: 'runs' }],
  created_at: [{ key: 's.created_at', type: 'timestamptz', of: 'search' }],
  title: [{ key: 's.title', type: 'text', of: 'search' }],
  // Runs without a skill come last in either direction: two orders, one after the other.
  agent: [
    { key: 's.agent', type: 'text', of: 'search', where: `s.agent > ''` },
    { key: 's.agent', type: 'text', of: 'search', where: `s.agent = ''` },
  ],
};

/** Of runs in these states alone: each state but that of most runs has an index by title. */
const BY_STATE_AND_TITLE: Part = { key: `left(r.title, 200) COLLATE "C"`, type: 'text', of: 'runs' };

const partsOf = ({ sort, filter: { states } }: RunListRequest): Part[] =>
  sort === 'title' && states !== undefined && !states.includes('SUCCEEDED')
    ? [BY_STATE_AND_TITLE]
    : PARTS[sort];

/**
 * Lists of runs, fast whatever the filter, at a million runs of one team:
 *
 * 1. An index in the order of the list is read from the place of the cursor on, and what it yields is filtered: in the orders by title and
 *    by skill mostly within the index. Filters that leave one run in twenty end here.
 * 2. What leaves fewer is found by its tokens in `run_search`, intersected within one GIN index, and sorted: in an order of time those of
 *    the days that are expected to hold a page, however many there are in all.
 * 3. What leaves fewer still is found among all.
 *
 * Everything of a page comes from one statement, hence from one moment. Why so: docs/adr/0015-lists-of-runs.md.
 */
@Injectable()
export class RunList {
  constructor(
    private readonly database: Database,
    private readonly search: RunSearch,
    private readonly shares: OwnerShares,
    private readonly clock: Clock,
  ) {}

  /** How deep an order is read before the index of tokens is asked; a test leaves it out to see the latter alone. */
  scanDepths = (query: RunListQuery, part: Part): number[] => {
    const [first, second] = isToldByEntries(query, part) ? SCANS_OF_ENTRIES : SCANS;
    return [Math.max(first, 2 * query.limit), Math.max(second, SECOND_SCAN_OF_PAGE * query.limit)];
  };

  /** @returns at most `limit` runs */
  async read(request: RunListRequest): Promise<ListedRun[]> {
    const scopes = scopesOf(request.visibility);
    const words = await this.wordsOf(request, scopes);
    if (words?.length === 0) return [];
    const ownersAreFew = hasConditions(request.filter) && (await this.shares.of(scopes)) < MOST_RUNS;
    const query = { ...request, words, ownersAreFew, now: this.clock.now() };
    const found: ListedRun[] = [];
    for (const [index, part] of partsOf(request).entries()) {
      if (index < (request.after?.part ?? 0) || found.length >= request.limit) continue;
      const after = request.after?.part === index ? request.after : undefined;
      const limit = request.limit - found.length;
      const rows = await this.readPart({ ...query, after, limit }, part);
      found.push(
        ...rows.map((row) => ({
          ...row,
          position: { part: index, key: row.key, id: row.id },
          readAt: row.read_at,
        })),
      );
    }
    return found;
  }

  /** For each word of the search those that it may stand for; empty for a search without a word. */
  private async wordsOf({ filter }: RunListRequest, scopes: string[]): Promise<string[][] | undefined> {
    if (filter.q === undefined) return undefined;
    const terms = termsOf(filter.q);
    return scopes.length === 0 ? terms.map((term) => [term]) : this.search.meantBy(terms, scopes);
  }

  private async readPart(query: RunListQuery, part: Part): Promise<ListedRow[]> {
    const { limit, filter } = query;
    if (!hasConditions(filter)) return (await this.fetch(query, scanSql(query, part, limit))).rows;
    const [first, second] = this.scanDepths(query, part);
    if (first !== undefined) {
      const { rows, scanned, extent } = await this.fetch(query, scanSql(query, part, first));
      if (rows.length >= limit || scanned < first) return rows;
      const scanDeeper = async (): Promise<ListedRow[] | undefined> => {
        if (second === undefined || (rows.length * second) / first < limit) return undefined;
        const statement = scanSql(query, part, second);
        if (isToldByEntries(query, part)) {
          // Whether that were all is not worth reading the order again for.
          const { rows: page } = await this.fetch(query, { ...statement, looked: NOTHING_LOOKED_AT });
          return page.length >= limit ? page : undefined;
        }
        const deeper = await this.fetch(query, statement);
        return deeper.rows.length >= limit || deeper.scanned < second ? deeper.rows : undefined;
      };
      const readStretches = async (): Promise<ListedRow[] | undefined> => {
        if (extent === undefined || !isIndexed(query)) return undefined;
        for (const stretch of stretchesBeyond(extent, query, rows.length)) {
          const page = await this.readStretch(query, part, stretch);
          if (page !== undefined) return page;
        }
        return undefined;
      };
      // The runs of a state are read in order by an index of their own, however far apart they lie; a stretch holds those of all states.
      const page =
        filter.states === undefined
          ? ((await readStretches()) ?? (await scanDeeper()))
          : ((await scanDeeper()) ?? (await readStretches()));
      if (page !== undefined) return page;
    }
    return (await this.fetch(query, matchSql(query, part))).rows;
  }

  /** @returns undefined when the page does not end within the stretch, or that would not be worth looking for */
  private async readStretch(
    query: RunListQuery,
    part: Part,
    stretch: Stretch,
  ): Promise<ListedRow[] | undefined> {
    const statement = stretchSql(query, part, stretch);
    if (statement === undefined) return undefined;
    const { rows, scanned } = await this.fetch(query, statement);
    const last = rows.length < query.limit ? undefined : rows.at(-1);
    if (last === undefined || scanned >= MAX_LONG_LIVED) return undefined;
    const end = Date.parse(last.key);
    return end >= stretch.earliest.getTime() && end <= stretch.latest.getTime() ? rows : undefined;
  }

  /** @returns `extent`: of what was scanned, in an order of time, where it held too little */
  private async fetch(
    { order }: RunListRequest,
    { ctes, looked, parameters, key }: PageSql,
  ): Promise<{ rows: ListedRow[]; scanned: number; extent?: Stretch }> {
    const rows = await this.database.query<ListedRow & Looked>(
      `WITH ${ctes}
       SELECT l.*, ${timeText('now()::timestamptz(3)')} AS read_at, v.*
         FROM (${looked}) l
         LEFT JOIN (SELECT ${key} AS key, p.key AS sort_key, ${RUN_COLUMNS} FROM page p JOIN runs r ON r.id = p.id ${RUN_JOINS}) v ON true
        ORDER BY v.sort_key ${order}, v.id ${order}`,
      parameters.values,
    );
    const { scanned = 0, earliest, latest } = rows[0] ?? {};
    return {
      rows: rows.filter(({ id }) => (id as string | null) !== null),
      scanned,
      extent: earliest && latest ? { earliest, latest } : undefined,
    };
  }
}

type ListedRow = RunView & { key: string; read_at: string };

const hasConditions = (filter: RunFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined);

/** Whether the filter names what the index of tokens holds. */
const isIndexed = ({ filter, words }: RunListQuery): boolean =>
  words !== undefined || filterFacets(filter).length > 0;

/**
 * From where the page begins, as far as it is expected to reach, and then farther: `found` of its runs were in the `extent` that was
 * scanned. None where that says too little.
 */
function stretchesBeyond(
  { earliest, latest }: Stretch,
  { limit, order, filter: { createdBefore, states } }: RunListRequest,
  found: number,
): Stretch[] {
  if (found === 0 && states !== undefined) return [];
  const times = found === 0 ? STRETCH_OF_SCANS : (STRETCH_OF_PAGES * limit) / found;
  // What changed later than this is long-lived, all of it, and says nothing of how close the others lie.
  const born = Math.min(latest.getTime(), createdBefore?.getTime() ?? Infinity);
  const length = Math.max(DAY, (born - earliest.getTime()) * times);
  return (found === 0 && length > DAY ? [length] : [length, FARTHER * length]).map((span) =>
    order === 'desc'
      ? { earliest: new Date(born - span), latest }
      : { earliest, latest: new Date(earliest.getTime() + span) },
  );
}
