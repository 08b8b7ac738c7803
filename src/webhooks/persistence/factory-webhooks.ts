import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

/** A webhook as automations know it. A deleted one keeps its name. */
export interface FactoryWebhook {
  uid: string;
  factoryUid: string;
  teamUid: string;
  name: string;
  isDeleted: boolean;
}

const COLUMNS = `uid, factory_uid AS "factoryUid", team_uid AS "teamUid", name, deleted_at IS NOT NULL AS "isDeleted"`;

/** Which webhooks there are, the deleted ones too: for the contexts that refer to them. */
@Injectable()
export class FactoryWebhooks {
  ofFactory(database: Queryable, factoryUid: string): Promise<FactoryWebhook[]> {
    return database.query<FactoryWebhook>(`SELECT ${COLUMNS} FROM webhooks WHERE factory_uid = $1`, [
      factoryUid,
    ]);
  }

  /** The webhook of the team, deleted or not. */
  async find(database: Queryable, teamUid: string, uid: string): Promise<FactoryWebhook | undefined> {
    const rows = await database.query<FactoryWebhook>(
      `SELECT ${COLUMNS} FROM webhooks WHERE uid = $1 AND team_uid = $2`,
      [uid, teamUid],
    );
    return rows[0];
  }

  /** The webhook, whose factory nobody edits until the transaction ends; undefined when the factory was deleted. */
  async hold(tx: Tx, uid: string): Promise<FactoryWebhook | undefined> {
    await tx.query(
      `SELECT FROM factories f JOIN webhooks w ON w.factory_uid = f.uid WHERE w.uid = $1 FOR SHARE OF f`,
      [uid],
    );
    // In a statement of its own, which sees what was committed during the wait.
    const rows = await tx.query<FactoryWebhook>(`SELECT ${COLUMNS} FROM webhooks WHERE uid = $1`, [uid]);
    return rows[0];
  }
}
