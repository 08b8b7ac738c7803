import { Injectable } from '@nestjs/common';
import { Clock, MINUTE } from '../../kernel/clock.js';
import { Database } from '../../kernel/persistence/database.js';

interface Shares {
  readAt: number;
  /** By team or person, of those that have most runs; 1 = all runs. */
  byOwner: Promise<Map<string, number>>;
}

/** How many of all runs a team or person owns, as PostgreSQL's statistics have it: about, and as of a while ago. */
@Injectable()
export class OwnerShares {
  private shares: Shares | undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @returns from 0 to 1; 0 also where nothing is known yet */
  async of(scopeUids: string[]): Promise<number> {
    const byOwner = await this.current().byOwner;
    return scopeUids.reduce((sum, uid) => sum + (byOwner.get(uid) ?? 0), 0);
  }

  private current(): Shares {
    const now = this.clock.now().getTime();
    if (this.shares === undefined || now - this.shares.readAt >= MINUTE) {
      const shares = { readAt: now, byOwner: this.read() };
      this.shares = shares;
      shares.byOwner.catch(() => {
        if (this.shares === shares) this.shares = undefined;
      });
    }
    return this.shares;
  }

  private async read(): Promise<Map<string, number>> {
    const rows = await this.database.query<{ uid: string; share: number }>(
      `SELECT owner.uid, owner.share
         FROM pg_stats, unnest(most_common_vals::text::uuid[], most_common_freqs) AS owner (uid, share)
        WHERE schemaname = current_schema() AND tablename = 'run_search' AND attname = 'scope_uid'`,
    );
    return new Map(rows.map(({ uid, share }) => [uid, share]));
  }
}
