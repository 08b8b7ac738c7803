import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { AgentIdentity, AgentSettings } from '../domain/agent-identity.js';
import { AgentEntity } from './identity.entities.js';
import { lockTeam } from './lock-team.js';

/** The agents of teams, each with its place in the order of age of its team, in which disabled ones have none. $1 the teams, $2 how many are available (0 = all). */
const TEAM_AGENTS = `
  SELECT uid, team_uid AS "teamUid", name, description, prompt, is_default AS "isDefault", disabled, environment_id AS "environmentId", base_model AS "baseModel",
         base_harness AS "baseHarness", harness, harness_auth_secrets AS "harnessAuthSecrets", secrets, skills,
         mcp_servers AS "mcpServers", memory, inference_providers AS "inferenceProviders",
         credential_strategy AS "credentialStrategy", default_runner_uid AS "defaultRunnerUid",
         on_behalf_of_enabled AS "onBehalfOfEnabled", worker_host AS "workerHost",
         created_at AS "createdAt", updated_at AS "updatedAt",
         NOT disabled AND ($2 = 0 OR row_number() OVER (PARTITION BY team_uid ORDER BY disabled, created_at, uid) <= $2) AS available
    FROM agents WHERE team_uid = ANY ($1::uuid[])`;

/** Agent identities. `maxAvailable` is everywhere how many of a team's agents, from the oldest on, are available; 0 = all. */
@Injectable()
export class AgentRepository {
  /** The oldest first. */
  list(database: Queryable, teamUid: string, maxAvailable: number): Promise<AgentIdentity[]> {
    return database.query<AgentIdentity>(`${TEAM_AGENTS} ORDER BY created_at, uid`, [
      [teamUid],
      maxAvailable,
    ]);
  }

  /**
   * @param wanted a uid, or undefined for the team's default agent
   * @returns in their order; undefined where the team has no such agent
   */
  async findAll(
    database: Queryable,
    wanted: { teamUid: string; agentUid: string | undefined }[],
    maxAvailable: number,
  ): Promise<(AgentIdentity | undefined)[]> {
    const agents = await database.query<AgentIdentity & { place: number }>(
      `SELECT agent.*, w.place::int FROM (${TEAM_AGENTS}) AS agent
         JOIN unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS w (team_uid, uid, place)
           ON w.team_uid = agent."teamUid" AND CASE WHEN w.uid IS NULL THEN "isDefault" ELSE agent.uid = w.uid END`,
      [
        [...new Set(wanted.map(({ teamUid }) => teamUid))],
        maxAvailable,
        wanted.map(({ teamUid }) => teamUid),
        wanted.map(({ agentUid }) => agentUid ?? null),
      ],
    );
    const byPlace = new Map(agents.map((agent) => [agent.place, agent]));
    return wanted.map((_, index) => byPlace.get(index + 1));
  }

  /** @param agentUid undefined = the team's default agent */
  async find(
    database: Queryable,
    teamUid: string,
    agentUid: string | undefined,
    maxAvailable: number,
  ): Promise<AgentIdentity | undefined> {
    const [agent] = await this.findAll(database, [{ teamUid, agentUid }], maxAvailable);
    return agent;
  }

  /** Those of them that are agents of the team. */
  async existing(database: Queryable, teamUid: string, agentUids: string[]): Promise<Set<string>> {
    const rows = await database.query<{ uid: string }>(
      'SELECT uid FROM agents WHERE team_uid = $1 AND uid = ANY ($2::uuid[])',
      [teamUid, agentUids],
    );
    return new Set(rows.map(({ uid }) => uid));
  }

  /** @returns undefined when the team has `limit` agents already: creations of one team take turns, so none slips past */
  async insert(
    tx: Tx,
    teamUid: string,
    settings: Partial<AgentSettings> & { name: string },
    limit: number,
  ): Promise<string | undefined> {
    await lockTeam(tx, teamUid);
    const [count] = await tx.query<{ agents: number }>(
      'SELECT count(*)::int AS agents FROM agents WHERE team_uid = $1',
      [teamUid],
    );
    if ((count?.agents ?? 0) >= limit) return undefined;
    const uid = newUuid();
    await tx.manager.insert(AgentEntity, { uid, teamUid, ...settings });
    return uid;
  }

  /** Changes what is given; undefined leaves a setting as it is. @returns whether the team has such an agent */
  async update(
    tx: Tx,
    teamUid: string,
    agentUid: string,
    settings: Partial<AgentSettings>,
  ): Promise<boolean> {
    const { affected } = await tx.manager.update(
      AgentEntity,
      { uid: agentUid, teamUid },
      { ...settings, updatedAt: () => 'now()' },
    );
    return affected === 1;
  }

  /** A disabled agent is not available for runs. Its keys and its settings stay. */
  async setDisabled(tx: Tx, teamUid: string, agentUid: string, disabled: boolean): Promise<void> {
    await tx.manager.update(AgentEntity, { uid: agentUid, teamUid }, { disabled, updatedAt: () => 'now()' });
  }

  /** Deletes the agent and, by their foreign key, all its API keys. */
  async delete(tx: Tx, teamUid: string, agentUid: string): Promise<'deleted' | 'not_found' | 'is_default'> {
    const rows = await tx.query<{ is_default: boolean }>(
      `WITH target AS (
         SELECT uid, is_default FROM agents WHERE uid = $1 AND team_uid = $2 FOR UPDATE
       ), deleted AS (
         DELETE FROM agents a USING target t WHERE a.uid = t.uid AND NOT t.is_default
       )
       SELECT is_default FROM target`,
      [agentUid, teamUid],
    );
    if (rows[0] === undefined) return 'not_found';
    return rows[0].is_default ? 'is_default' : 'deleted';
  }
}
