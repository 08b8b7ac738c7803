import { Injectable, Logger } from '@nestjs/common';
import { apiKeyPrefix, matchesHash } from '../domain/api-key.js';
import type { Caller } from '../domain/caller.js';
import { ApiKeyRepository, type ApiKeyRow } from '../persistence/api-key.repository.js';
import { CallerCache } from './caller-cache.js';

export type Authentication =
  | { outcome: 'authenticated'; caller: Caller }
  | { outcome: 'unknown_key' }
  /** The header `X-Team-Uid` names a team that the user does not belong to. */
  | { outcome: 'not_a_member'; keyUid: string };

/**
 * Finds out whose key it is. What is known of a key is at most a second old ({@link CallerCache}): within that time a revocation, a
 * removed member and a changed role bite on every replica, and at once on the one that calls {@link forget}. The keys of
 * executions are read every time, since they fence off an execution that has ended.
 */
@Injectable()
export class Authenticate {
  private readonly logger = new Logger(Authenticate.name);

  private readonly cache = new CallerCache<ApiKeyRow>(
    (key) => this.read(key),
    (row) => row.run_id === null,
  );

  constructor(private readonly apiKeys: ApiKeyRepository) {}

  /**
   * @param teamUid the team that the caller asks to act for
   * @returns a promise only when the database is asked
   */
  execute(key: string, teamUid?: string): Authentication | Promise<Authentication> {
    const row = this.cache.get(key);
    return row instanceof Promise ? row.then((read) => toCaller(read, teamUid)) : toCaller(row, teamUid);
  }

  /** To be called after the commit of whatever takes rights away or gives them: keys, memberships, agent identities. */
  forget(): void {
    this.cache.forgetAll();
  }

  private async read(key: string): Promise<ApiKeyRow | undefined> {
    const rows = await this.apiKeys.findByPrefix(apiKeyPrefix(key));
    const row = rows.find((candidate) => matchesHash(key, candidate.hash));
    if (row?.use_is_stale) {
      this.apiKeys.noteUse(row.uid).catch((error: unknown) => {
        this.logger.warn({ err: error }, 'the last use of a key could not be noted');
      });
    }
    return row;
  }
}

function toCaller(row: ApiKeyRow | undefined, teamUid: string | undefined): Authentication {
  if (row === undefined) return { outcome: 'unknown_key' };
  const keyUid = row.uid;
  if (row.run_id !== null) {
    return authenticated({ kind: 'run', keyUid, runId: row.run_id, executionId: Number(row.execution_id) });
  }
  if (row.agent !== null) {
    const { uid, name, team_uid, on_behalf_of_enabled } = row.agent;
    if (teamUid !== undefined && teamUid.toLowerCase() !== team_uid)
      return { outcome: 'not_a_member', keyUid };
    return authenticated({
      kind: 'agent',
      keyUid,
      uid,
      displayName: name,
      team: { uid: team_uid },
      onBehalfOfEnabled: on_behalf_of_enabled,
    });
  }
  if (row.user_uid === null) return { outcome: 'unknown_key' };
  const teams = row.teams ?? [];
  const only = teams.length === 1 ? teams[0] : undefined;
  const team = teamUid === undefined ? only : teams.find(({ uid }) => uid === teamUid.toLowerCase());
  if (teamUid !== undefined && team === undefined) return { outcome: 'not_a_member', keyUid };
  return authenticated({
    kind: 'user',
    keyUid,
    uid: row.user_uid,
    displayName: row.display_name ?? '',
    email: row.email ?? undefined,
    team: team && {
      uid: team.uid,
      role: team.role,
      manageFactory: team.role === 'admin' || team.permissions.includes('manage_factory'),
    },
    teamCount: teams.length,
    operator: row.operator,
  });
}

const authenticated = (caller: Caller): Authentication => ({ outcome: 'authenticated', caller });
