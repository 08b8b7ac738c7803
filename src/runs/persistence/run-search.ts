import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { runFacets, type RunFacts } from '../domain/run-facets.js';
import { signatureOf } from '../domain/run-signature.js';
import { lexiconWords, meantWords, wordsOf } from '../domain/search-words.js';

/** Columns of a new run's input that its search row is made of. */
export const SEARCH_INPUT_COLUMNS = 'facets text[], words text[], signature bytea, lexicon text[]';

/** What stands in {@link SEARCH_INPUT_COLUMNS}. */
export const searchInput = (
  run: RunFacts & { title: string; prompt: string },
): { facets: string[]; words: string[]; signature: string; lexicon: string[] } => {
  const words = wordsOf(run.title, run.skill_spec, run.prompt);
  const facets = runFacets(run);
  const signature = `\\x${signatureOf([...facets, ...words]).toString('hex')}`;
  return { facets, words, signature, lexicon: lexiconWords(words) };
};

/** The tokens of a time of creation. */
const createdFacetsSql = (time: string): string =>
  `ARRAY[to_char(${time} AT TIME ZONE 'UTC', '"day:"YYYY-MM-DD'), to_char(${time} AT TIME ZONE 'UTC', '"month:"YYYY-MM')]`;

/**
 * Writes the search rows of the runs in `input`, and their words that are new to the lexicon: in the order of words, so that two
 * transactions which meet in the same new words wait for one another and seldom get stuck. A known word is only looked up.
 */
export const INSERT_SEARCH_CTES = `search AS (
         INSERT INTO run_search (run_id, scope_uid, created_at, title, agent, facets, words, signature)
         SELECT id, coalesce(team_uid, owner_uid), now(), left(title, 200), coalesce(skill_spec, ''),
                facets || ${createdFacetsSql('now()')}, words, signature FROM input
       ), lexicon AS (
         INSERT INTO run_words (scope_uid, word)
         SELECT DISTINCT coalesce(team_uid, owner_uid) AS scope_uid, word COLLATE "C" AS word
           FROM input CROSS JOIN unnest(lexicon) word ORDER BY scope_uid, word
         ON CONFLICT DO NOTHING
       )`;

/** A prefix such as `re` begins hundreds of words; the shortest are taken. */
const MAX_SIMILAR = 50;
/** A term has so few trigrams, up to this length, that a typing error leaves none; its neighbours are found by their first letter. */
const SHORT_TERM = 5;
const MAX_SAME_LETTER = 3_000;

/** The index over what does not change of a run. */
@Injectable()
export class RunSearch {
  constructor(private readonly database: Database) {}

  /** Adds a token that lists are filtered by, such as `artifactFacet('PLAN')`; one that is there already changes nothing. */
  async addFacet(tx: Tx, runId: string, facet: string): Promise<void> {
    await tx.query(
      `UPDATE run_search SET facets = facets || $2::text WHERE run_id = $1 AND NOT facets @> ARRAY[$2::text]`,
      [runId, facet],
    );
  }

  /** For each term the words that it may stand for in the runs of these owners; the term itself among them. */
  async meantBy(terms: string[], scopeUids: string[]): Promise<string[][]> {
    const rows = await this.database.query<{ term: string; words: string[] }>(
      `SELECT t.term, ARRAY(
         (SELECT word FROM run_words
           WHERE scope_uid = ANY ($2::uuid[]) AND word >= t.term AND word < t.term || U&'\\+10FFFF'
           ORDER BY length(word), word LIMIT ${String(MAX_SIMILAR)})
         UNION
         (SELECT word FROM run_words
           WHERE length(t.term) > ${String(SHORT_TERM)} AND word % t.term AND scope_uid = ANY ($2::uuid[])
           ORDER BY similarity(word, t.term) DESC, word LIMIT ${String(MAX_SIMILAR)})
         UNION
         (SELECT word FROM run_words
           WHERE length(t.term) BETWEEN 3 AND ${String(SHORT_TERM)} AND scope_uid = ANY ($2::uuid[])
             AND word >= left(t.term, 1) AND word < left(t.term, 1) || U&'\\+10FFFF'
             AND length(word) BETWEEN length(t.term) - 1 AND length(t.term) + 1
           LIMIT ${String(MAX_SAME_LETTER)})) AS words
         FROM unnest($1::text[]) AS t (term)`,
      [terms, scopeUids],
    );
    const similar = new Map(rows.map((row) => [row.term, row.words]));
    return terms.map((term) => meantWords(term, similar.get(term) ?? []));
  }
}
