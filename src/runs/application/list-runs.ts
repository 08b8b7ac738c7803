import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { AppConfig } from '../../config/app-config.js';
import type { Caller } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { decodeCursor, encodeCursor } from '../../kernel/pagination/cursor.js';
import { Keyring } from '../../kernel/security/keyring.js';
import { describeList, type RunFilter, type RunOrder } from '../domain/run-filter.js';
import type { RunView } from '../domain/run-view.js';
import { RunList } from '../persistence/run-list.js';
import type { RunPosition } from '../persistence/run-list-sql.js';
import { RunReadModel } from '../persistence/run.read-model.js';
import { runVisibility } from './run-visibility.js';

export interface RunPage {
  filter: RunFilter;
  order: RunOrder;
  limit: number;
  cursor?: string;
}

/**
 * A page of the runs that the caller may see. While runs change and come, no page repeats a run of an earlier one, and a run that does
 * not change is on one of them: the cursor is a place in the order. Oldest change first, a run that changes moves ahead of the cursor;
 * there the pages end at the moment of the first one.
 */
@Injectable()
export class ListRuns {
  constructor(
    private readonly list: RunList,
    private readonly runs: RunReadModel,
    private readonly keyring: Keyring,
    private readonly config: AppConfig,
  ) {}

  /**
   * @returns undefined when there is no such ancestor run
   * @throws Problem 400 for a cursor of another list; 403 for metadata where filtering by it is switched off
   */
  async execute(
    caller: Caller,
    { filter, order, limit, cursor }: RunPage,
  ): Promise<{ runs: RunView[]; nextCursor?: string } | undefined> {
    if (filter.metadata !== undefined && !this.config.metadataFiltering) {
      throw new Problem('feature_not_available', { detail: 'Metadata filtering is not enabled' });
    }
    const visibility = runVisibility(caller);
    const scope = createHash('sha256').update(describeList(filter, order)).digest('base64url');
    const from = cursor === undefined ? undefined : this.decode(scope, cursor);
    if (filter.ancestorRunId !== undefined && !(await this.runs.exists(filter.ancestorRunId, visibility))) {
      return undefined;
    }
    // One more than asked for tells whether there is a further page.
    const found = await this.list.read({ visibility, filter, ...order, ...from, limit: limit + 1 });
    const runs = found.slice(0, limit);
    const last = runs.at(-1);
    if (found.length <= limit || last === undefined) return { runs };
    const { part, key, id } = last.position;
    const movesAhead = order.sort === 'updated_at' && order.order === 'asc';
    const asOf = movesAhead ? (from?.asOf ?? last.readAt) : null;
    return { runs, nextCursor: encodeCursor(this.keyring, scope, [part, key, id, asOf]) };
  }

  private decode(scope: string, cursor: string): { after: RunPosition; asOf?: string } {
    const [part, key, id, asOf] = decodeCursor(this.keyring, scope, cursor);
    return {
      after: { part: Number(part), key: String(key), id: String(id) },
      asOf: typeof asOf === 'string' ? asOf : undefined,
    };
  }
}
