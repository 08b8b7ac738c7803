import { Injectable } from '@nestjs/common';
import { type AccountCaller, ownedBy } from '../../identities/index.js';
import type { Queryable } from '../../kernel/persistence/database.js';
import type { EnvironmentConfig } from '../domain/environment-config.js';
import type { EnvironmentShareView, EnvironmentSort, EnvironmentView } from '../domain/environment-view.js';

const MAX_GUEST_ENVIRONMENTS = 1_000;

/** The caller owns `e`: their team ($1) or they in person ($2). */
export const OWNED = '(e.team_uid = $1 OR e.owner_uid = $2)';

/** What a person, or a team, has been given; a link is given by being opened. */
const grantsTo = (team: string, visitor: string): string => `
  (SELECT environment_uid, created_at FROM environment_shares WHERE kind = 'user' AND grantee_uid = ${visitor}
   UNION ALL
   SELECT environment_uid, created_at FROM environment_shares WHERE kind = 'team' AND grantee_uid = ${team}
   UNION ALL
   SELECT s.environment_uid, v.created_at
     FROM environment_link_visits v JOIN environment_shares s ON s.uid = v.share_uid AND s.kind = 'link'
    WHERE v.visitor_uid = ${visitor})`;

/** What the caller ($3), or the team that they act for ($1), has been given. */
const GRANTS = grantsTo('$1', '$3');

const COLUMNS = `e.uid, e.config, e.team_uid, e.owner_uid, e.creator_uid, e.last_editor_uid, e.last_updated,
  CASE WHEN ${OWNED} THEN 'owner' ELSE 'guest' END AS access`;

const ORDERS: Record<EnvironmentSort, string> = {
  name: 'lower(e.name), e.uid',
  last_updated: 'e.last_updated DESC, e.uid',
};

/** $1 to $3 of every statement that asks who the caller is. */
export const parametersOf = (caller: AccountCaller): (string | null)[] => {
  const { teamUid, ownerUid } = ownedBy(caller);
  return [teamUid, ownerUid, caller.uid];
};

/** Environments and shares as callers read them. The one place that knows who may use an environment. */
@Injectable()
export class EnvironmentReadModel {
  /**
   * What the caller owns, at most 1,000 a team and 1,000 in person by the limit on creating, and as a guest the 1,000 that they were
   * given last, so that nobody's generosity can crowd out what is their own.
   */
  list(database: Queryable, caller: AccountCaller, sort: EnvironmentSort): Promise<EnvironmentView[]> {
    return database.query<EnvironmentView>(
      `WITH given AS (
         SELECT environment_uid AS uid FROM ${GRANTS} g
          GROUP BY environment_uid ORDER BY max(created_at) DESC, environment_uid LIMIT ${String(MAX_GUEST_ENVIRONMENTS)}
       ), reached AS (
         SELECT uid FROM environments WHERE team_uid = $1
         UNION SELECT uid FROM environments WHERE owner_uid = $2
         UNION SELECT uid FROM given
       )
       SELECT ${COLUMNS} FROM reached JOIN environments e USING (uid) ORDER BY ${ORDERS[sort]}`,
      parametersOf(caller),
    );
  }

  /** Undefined for an environment that the caller may not know of. */
  async find(database: Queryable, caller: AccountCaller, uid: string): Promise<EnvironmentView | undefined> {
    const [environment] = await this.findAll(database, caller, [uid]);
    return environment;
  }

  /** Those of them that the caller may know of. */
  findAll(database: Queryable, caller: AccountCaller, uids: string[]): Promise<EnvironmentView[]> {
    return database.query<EnvironmentView>(
      `SELECT ${COLUMNS} FROM environments e
        WHERE e.uid = ANY ($4) AND (${OWNED} OR EXISTS (SELECT FROM ${GRANTS} g WHERE g.environment_uid = e.uid))`,
      [...parametersOf(caller), uids],
    );
  }

  /** Which of the environments their callers may use, in the order of the questions. */
  async areUsable(database: Queryable, asked: { caller: AccountCaller; uid: string }[]): Promise<boolean[]> {
    const callers = asked.map(({ caller }) => parametersOf(caller));
    const rows = await database.query<{ place: number }>(
      `SELECT a.place::int
         FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) WITH ORDINALITY AS a (team, owner, visitor, uid, place)
         JOIN environments e USING (uid)
        WHERE e.team_uid = a.team OR e.owner_uid = a.owner
           OR EXISTS (SELECT FROM ${grantsTo('a.team', 'a.visitor')} g WHERE g.environment_uid = e.uid)`,
      [...[0, 1, 2].map((index) => callers.map((caller) => caller[index])), asked.map(({ uid }) => uid)],
    );
    const places = new Set(rows.map(({ place }) => place));
    return asked.map((_, index) => places.has(index + 1));
  }

  /** Whoever asks: undefined only where there is none. */
  async config(database: Queryable, uid: string): Promise<EnvironmentConfig | undefined> {
    const rows = await database.query<{ config: EnvironmentConfig }>(
      'SELECT config FROM environments WHERE uid = $1',
      [uid],
    );
    return rows[0]?.config;
  }

  /** In the order in which they were made. */
  shares(database: Queryable, environmentUid: string): Promise<EnvironmentShareView[]> {
    return database.query<EnvironmentShareView>(
      `SELECT uid, kind, grantee_uid, created_at FROM environment_shares
        WHERE environment_uid = $1 ORDER BY created_at, uid`,
      [environmentUid],
    );
  }
}
