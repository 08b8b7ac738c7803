import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { AgentConfig } from '../../runs/index.js';
import { type Automation, type AutomationSettings, type Trigger, webhooksOf } from '../domain/automation.js';

/** Of one factory. */
export const MAX_AUTOMATIONS = 1000;

/** An enabled automation, as the evaluation of deliveries to a webhook needs it. */
export interface SelectingAutomation {
  uid: string;
  triggers: Trigger[];
}

/** A cron trigger of an automation. */
export interface AutomationSchedule {
  id: string;
  cron: string;
  name: string | null;
}

/** What it takes to start a run of an automation. */
export interface LaunchableAutomation {
  uid: string;
  name: string;
  enabled: boolean;
  agentUid: string | null;
  prompt: string;
  config: AgentConfig | null;
  lastEditorUid: string;
  teamUid: string;
}

const COLUMNS = `a.uid, a.factory_uid AS "factoryUid", a.name, a.enabled, a.agent_uid AS "agentUid", a.prompt, a.triggers, a.config,
  a.created_at AS "createdAt", a.updated_at AS "updatedAt"`;

const LAUNCHABLE = `
  SELECT a.uid, a.name, a.enabled, a.agent_uid AS "agentUid", a.prompt, a.config, a.last_editor_uid AS "lastEditorUid",
         f.team_uid AS "teamUid"
    FROM automations a JOIN factories f ON f.uid = a.factory_uid`;

/**
 * Automations of factories. Whoever writes holds the factory's lock ({@link Factories}), so that the revision of its automations goes
 * up one by one and what was counted or checked stays true.
 */
@Injectable()
export class AutomationRepository {
  /** By name. */
  list(database: Queryable, factoryUid: string): Promise<Automation[]> {
    return database.query<Automation>(
      `SELECT ${COLUMNS} FROM automations a WHERE a.factory_uid = $1 ORDER BY lower(a.name)`,
      [factoryUid],
    );
  }

  async find(database: Queryable, teamUid: string, uid: string): Promise<Automation | undefined> {
    const rows = await database.query<Automation>(
      `SELECT ${COLUMNS} FROM automations a JOIN factories f ON f.uid = a.factory_uid
        WHERE a.uid = $1 AND f.team_uid = $2`,
      [uid, teamUid],
    );
    return rows[0];
  }

  async insert(
    tx: Tx,
    factoryUid: string,
    settings: AutomationSettings,
    editorUid: string,
  ): Promise<Automation | 'name_taken' | 'limit_reached'> {
    const [count] = await tx.query<{ is_full: boolean }>(
      'SELECT count(*) >= $2 AS is_full FROM automations WHERE factory_uid = $1',
      [factoryUid, MAX_AUTOMATIONS],
    );
    if (count?.is_full) return 'limit_reached';
    const [automation] = await tx.query<Automation>(
      `INSERT INTO automations AS a (uid, factory_uid, name, enabled, agent_uid, prompt, triggers, config, last_editor_uid)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (factory_uid, lower(name)) DO NOTHING RETURNING ${COLUMNS}`,
      [newUuid(), factoryUid, ...valuesOf(settings), editorUid],
    );
    if (automation === undefined) return 'name_taken';
    await this.select(tx, automation.uid, settings.triggers);
    await this.raiseRevision(tx, factoryUid);
    return automation;
  }

  async replace(
    tx: Tx,
    { uid, factoryUid }: Automation,
    settings: AutomationSettings,
    editorUid: string,
  ): Promise<Automation | 'name_taken' | 'gone'> {
    const taken = await tx.query(
      'SELECT FROM automations WHERE factory_uid = $1 AND lower(name) = lower($2) AND uid <> $3',
      [factoryUid, settings.name, uid],
    );
    if (taken.length > 0) return 'name_taken';
    const [automation] = await tx.query<Automation>(
      `UPDATE automations a
          SET name = $2, enabled = $3, agent_uid = $4, prompt = $5, triggers = $6, config = $7, last_editor_uid = $8,
              updated_at = now()
        WHERE a.uid = $1 RETURNING ${COLUMNS}`,
      [uid, ...valuesOf(settings), editorUid],
    );
    if (automation === undefined) return 'gone';
    await tx.query('DELETE FROM automation_webhooks WHERE automation_uid = $1', [uid]);
    await this.select(tx, uid, settings.triggers);
    await this.raiseRevision(tx, factoryUid);
    return automation;
  }

  /** @returns whether there was one */
  async delete(tx: Tx, { uid, factoryUid }: { uid: string; factoryUid: string }): Promise<boolean> {
    const rows = await tx.query('DELETE FROM automations WHERE uid = $1 RETURNING uid', [uid]);
    await this.raiseRevision(tx, factoryUid);
    return rows.length > 0;
  }

  /** How often the automations of the webhook's factory were changed. */
  async revisionFor(database: Queryable, webhookUid: string): Promise<string> {
    const rows = await database.query<{ revision: string }>(
      `SELECT s.revision FROM webhooks w JOIN automation_sets s ON s.factory_uid = w.factory_uid WHERE w.uid = $1`,
      [webhookUid],
    );
    return rows[0]?.revision ?? '0';
  }

  /** The enabled automations that select the webhook. */
  selecting(database: Queryable, webhookUid: string): Promise<SelectingAutomation[]> {
    return database.query<SelectingAutomation>(
      `SELECT a.uid, a.triggers FROM automation_webhooks s JOIN automations a ON a.uid = s.automation_uid
        WHERE s.webhook_uid = $1 AND a.enabled ORDER BY a.uid`,
      [webhookUid],
    );
  }

  /** What it takes to start runs of these; those that were deleted are left out. */
  launchable(database: Queryable, uids: string[]): Promise<LaunchableAutomation[]> {
    return database.query<LaunchableAutomation>(`${LAUNCHABLE} WHERE a.uid = ANY ($1::uuid[])`, [uids]);
  }

  /** The automations of these cron triggers whose runs carry out a skill, in the order of the triggers. */
  scheduledWithSkill(
    database: Queryable,
    triggerIds: string[],
    limit: number,
  ): Promise<LaunchableAutomation[]> {
    return database.query<LaunchableAutomation>(
      `${LAUNCHABLE} JOIN (
           SELECT s.automation_uid, min(t.place) AS place
             FROM automation_schedules s JOIN unnest($1::uuid[]) WITH ORDINALITY AS t (id, place) ON t.id = s.trigger_id
            GROUP BY s.automation_uid
         ) due ON due.automation_uid = a.uid
        WHERE a.config ? 'skill_spec' ORDER BY due.place LIMIT $2`,
      [triggerIds, limit],
    );
  }

  /** The automations of cron triggers; those of triggers that belong to none any more are left out. */
  async scheduled(
    database: Queryable,
    triggerIds: string[],
  ): Promise<{ schedule: AutomationSchedule; automation: LaunchableAutomation }[]> {
    const schedules = await database.query<AutomationSchedule & { automationUid: string }>(
      `SELECT trigger_id AS id, cron, name, automation_uid AS "automationUid"
         FROM automation_schedules WHERE trigger_id = ANY ($1::uuid[])`,
      [triggerIds],
    );
    const automations = await this.launchable(
      database,
      schedules.map(({ automationUid }) => automationUid),
    );
    return schedules.flatMap(({ automationUid, ...schedule }) => {
      const automation = automations.find(({ uid }) => uid === automationUid);
      return automation === undefined ? [] : [{ schedule, automation }];
    });
  }

  schedules(database: Queryable, automationUid: string): Promise<AutomationSchedule[]> {
    return database.query<AutomationSchedule>(
      `SELECT trigger_id AS id, cron, name FROM automation_schedules WHERE automation_uid = $1`,
      [automationUid],
    );
  }

  async replaceSchedules(tx: Tx, automationUid: string, schedules: AutomationSchedule[]): Promise<void> {
    await tx.query('DELETE FROM automation_schedules WHERE automation_uid = $1', [automationUid]);
    await tx.query(
      `INSERT INTO automation_schedules (automation_uid, trigger_id, cron, name)
       SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::text[])`,
      [
        automationUid,
        schedules.map(({ id }) => id),
        schedules.map(({ cron }) => cron),
        schedules.map(({ name }) => name),
      ],
    );
  }

  /** Those of the automations that are enabled, and stay so until the transaction ends. */
  async holdEnabled(tx: Tx, uids: string[]): Promise<Set<string>> {
    const rows = await tx.query<{ uid: string }>(
      'SELECT uid FROM automations WHERE uid = ANY ($1::uuid[]) AND enabled ORDER BY uid FOR SHARE',
      [uids],
    );
    return new Set(rows.map(({ uid }) => uid));
  }

  private async select(tx: Tx, automationUid: string, triggers: Trigger[]): Promise<void> {
    await tx.query(
      'INSERT INTO automation_webhooks (webhook_uid, automation_uid) SELECT unnest($1::uuid[]), $2',
      [webhooksOf(triggers), automationUid],
    );
  }

  private async raiseRevision(tx: Tx, factoryUid: string): Promise<void> {
    await tx.query(
      `INSERT INTO automation_sets AS s (factory_uid, revision) VALUES ($1, 1)
       ON CONFLICT (factory_uid) DO UPDATE SET revision = s.revision + 1`,
      [factoryUid],
    );
  }
}

const valuesOf = (settings: AutomationSettings): unknown[] => [
  settings.name,
  settings.enabled,
  settings.agentUid,
  settings.prompt,
  JSON.stringify(settings.triggers),
  settings.config === null ? null : JSON.stringify(settings.config),
];
