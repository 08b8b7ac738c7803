import { Injectable } from '@nestjs/common';
import type { Caller } from '../../identities/index.js';
import { decodeCursor, encodeCursor } from '../../kernel/pagination/cursor.js';
import { Keyring } from '../../kernel/security/keyring.js';
import type { RunView } from '../domain/run-view.js';
import { RunReadModel } from '../persistence/run.read-model.js';
import { runVisibility } from './run-visibility.js';

const CURSOR_SCOPE = 'runs updated_at desc';

/** A page of the runs that the caller may see, the latest change first. */
@Injectable()
export class ListRuns {
  constructor(
    private readonly runs: RunReadModel,
    private readonly keyring: Keyring,
  ) {}

  async execute(
    caller: Caller,
    page: { limit: number; cursor?: string },
  ): Promise<{ runs: RunView[]; nextCursor?: string }> {
    const after = page.cursor === undefined ? undefined : this.decode(page.cursor);
    // One more than asked for tells whether there is a further page.
    const found = await this.runs.list(runVisibility(caller), { limit: page.limit + 1, after });
    const runs = found.slice(0, page.limit);
    const last = runs.at(-1);
    return {
      runs,
      nextCursor:
        found.length > page.limit && last !== undefined
          ? encodeCursor(this.keyring, CURSOR_SCOPE, [last.updated_at.toISOString(), last.id])
          : undefined,
    };
  }

  private decode(cursor: string): { updatedAt: string; id: string } {
    const [updatedAt, id] = decodeCursor(this.keyring, CURSOR_SCOPE, cursor);
    return { updatedAt: String(updatedAt), id: String(id) };
  }
}
