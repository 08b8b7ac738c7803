import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Queryable, type Tx } from '../../kernel/persistence/database.js';
import { MAX_LIST_ROWS } from '../domain/limits.js';
import type { Member, TeamPermission, TeamRole } from '../domain/membership.js';
import { lockTeam } from './lock-team.js';

export interface Team {
  uid: string;
  name: string;
  createdAt: Date;
}

/** The team's members. $1 the team. */
const MEMBERS = `
  SELECT m.user_uid AS "userUid", u.display_name AS "displayName", u.email, m.role, m.permissions, m.created_at AS "createdAt"
    FROM memberships m JOIN users u ON u.uid = m.user_uid
   WHERE m.team_uid = $1`;

/** Holds when the team has an admin besides the user. $1 the team, $2 the user. */
const HAS_OTHER_ADMIN = `EXISTS (
  SELECT FROM memberships WHERE team_uid = $1 AND user_uid <> $2 AND role = 'admin')`;

/** Users, teams and who is in which. A team has at least one admin, always. */
@Injectable()
export class TeamRepository {
  constructor(private readonly database: Database) {}

  /** @returns undefined when another user has the e-mail address, in whatever case */
  async insertUser(
    tx: Tx,
    user: { displayName: string; email?: string },
  ): Promise<{ uid: string; createdAt: Date } | undefined> {
    const rows = await tx.query<{ uid: string; createdAt: Date }>(
      `INSERT INTO users (uid, display_name, email) VALUES ($1, $2, $3)
       ON CONFLICT (lower(email)) WHERE email IS NOT NULL DO NOTHING
       RETURNING uid, created_at AS "createdAt"`,
      [newUuid(), user.displayName, user.email ?? null],
    );
    return rows[0];
  }

  /** Those of them who are users. */
  async existingUsers(database: Queryable, uids: string[]): Promise<Set<string>> {
    const rows = await database.query<{ uid: string }>('SELECT uid FROM users WHERE uid = ANY ($1)', [uids]);
    return new Set(rows.map(({ uid }) => uid));
  }

  /** Makes the team with its default agent and its first admin. @returns undefined when there is no such user */
  async insertTeam(tx: Tx, name: string, adminUid: string): Promise<Team | undefined> {
    const rows = await tx.query<Team>(
      `WITH team AS (
         INSERT INTO teams (uid, name) SELECT $1::uuid, $2 FROM users WHERE uid = $3 RETURNING *
       ), admin AS (
         INSERT INTO memberships (team_uid, user_uid, role) SELECT uid, $3, 'admin' FROM team
       ), agent AS (
         INSERT INTO agents (uid, team_uid, name, is_default) SELECT $4::uuid, uid, 'Default agent', true FROM team
       )
       SELECT uid, name, created_at AS "createdAt" FROM team`,
      [newUuid(), name, adminUid, newUuid()],
    );
    return rows[0];
  }

  /** The teams of a user, the oldest membership first. */
  teamsOf(
    userUid: string,
  ): Promise<{ uid: string; name: string; role: TeamRole; permissions: TeamPermission[] }[]> {
    return this.database.query(
      `SELECT t.uid, t.name, m.role, m.permissions FROM memberships m JOIN teams t ON t.uid = m.team_uid
        WHERE m.user_uid = $1 ORDER BY m.created_at, t.uid`,
      [userUid],
    );
  }

  async nameOf(teamUid: string): Promise<string | undefined> {
    const rows = await this.database.query<{ name: string }>('SELECT name FROM teams WHERE uid = $1', [
      teamUid,
    ]);
    return rows[0]?.name;
  }

  /** The longest membership first. */
  async listMembers(teamUid: string): Promise<Member[]> {
    const rows = await this.database.query<MemberRow>(`${MEMBERS} ORDER BY m.created_at, m.user_uid`, [
      teamUid,
    ]);
    return rows.map(toMember);
  }

  /** @param by the uid, or the e-mail address in whatever case */
  async findMember(
    database: Queryable,
    teamUid: string,
    by: { uid: string } | { email: string },
  ): Promise<Member | undefined> {
    const rows =
      'uid' in by
        ? await database.query<MemberRow>(`${MEMBERS} AND u.uid = $2`, [teamUid, by.uid])
        : await database.query<MemberRow>(`${MEMBERS} AND lower(u.email) = lower($2)`, [teamUid, by.email]);
    return rows[0] && toMember(rows[0]);
  }

  /** Adds the user to the team, or replaces what they are in it. */
  async setMember(
    tx: Tx,
    teamUid: string,
    userUid: string,
    membership: { role: TeamRole; permissions: TeamPermission[] },
  ): Promise<'set' | 'no_such_user' | 'last_admin' | 'full'> {
    await lockTeam(tx, teamUid);
    const rows = await tx.query<{ known: boolean; is_last_admin: boolean; has_room: boolean }>(
      `WITH facts AS (
         SELECT EXISTS (SELECT FROM users WHERE uid = $2) AS known,
                coalesce(m.role = 'admin' AND $3 <> 'admin' AND NOT ${HAS_OTHER_ADMIN}, false) AS is_last_admin,
                m.role IS NOT NULL OR (SELECT count(*) FROM memberships WHERE team_uid = $1) < $5 AS has_room
           FROM (SELECT) AS one LEFT JOIN memberships m ON m.team_uid = $1 AND m.user_uid = $2
       ), written AS (
         INSERT INTO memberships (team_uid, user_uid, role, permissions)
         SELECT $1, $2, $3, $4::text[] FROM facts WHERE known AND has_room AND NOT is_last_admin
         ON CONFLICT (team_uid, user_uid) DO UPDATE SET role = EXCLUDED.role, permissions = EXCLUDED.permissions
       )
       SELECT * FROM facts`,
      [teamUid, userUid, membership.role, membership.permissions, MAX_LIST_ROWS],
    );
    const facts = rows[0];
    if (!facts?.known) return 'no_such_user';
    if (facts.is_last_admin) return 'last_admin';
    return facts.has_room ? 'set' : 'full';
  }

  async removeMember(
    tx: Tx,
    teamUid: string,
    userUid: string,
  ): Promise<'removed' | 'not_a_member' | 'last_admin'> {
    await lockTeam(tx, teamUid);
    const rows = await tx.query<{ is_last_admin: boolean }>(
      `WITH target AS (
         SELECT role = 'admin' AND NOT ${HAS_OTHER_ADMIN} AS is_last_admin
           FROM memberships WHERE team_uid = $1 AND user_uid = $2
       ), removed AS (
         DELETE FROM memberships
          WHERE team_uid = $1 AND user_uid = $2 AND EXISTS (SELECT FROM target WHERE NOT is_last_admin)
       )
       SELECT is_last_admin FROM target`,
      [teamUid, userUid],
    );
    if (rows[0] === undefined) return 'not_a_member';
    return rows[0].is_last_admin ? 'last_admin' : 'removed';
  }
}

type MemberRow = Omit<Member, 'email'> & { email: string | null };

const toMember = (row: MemberRow): Member => ({ ...row, email: row.email ?? undefined });
