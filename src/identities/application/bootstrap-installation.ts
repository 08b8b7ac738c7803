import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { describeApiKey, newApiKey } from '../domain/api-key.js';
import { ApiKeyRepository } from '../persistence/api-key.repository.js';

const BOOTSTRAP_LOCK = 7_236_511_409;
const BOOTSTRAP_KEY_NAME = 'bootstrap';

/** Makes a fresh installation usable: the first team, its admin, and an operator's key for them. */
@Injectable()
export class BootstrapInstallation {
  constructor(
    private readonly apiKeys: ApiKeyRepository,
    private readonly config: AppConfig,
  ) {}

  /**
   * Does nothing where it was done before, except that a changed `BOOTSTRAP_API_KEY` replaces the key of before.
   *
   * @returns the key, when one was generated now: it can be shown this once
   */
  async execute(tx: Tx): Promise<{ generatedKey?: string }> {
    // Replicas that start together take turns; the lock ends with the transaction.
    await tx.query('SELECT pg_advisory_xact_lock($1)', [BOOTSTRAP_LOCK]);
    const adminUid = await this.firstAdmin(tx);
    const given = this.config.bootstrapApiKey;
    if (adminUid === undefined) {
      const key = given === undefined ? newApiKey() : describeApiKey(given);
      await this.apiKeys.insertForUser(tx, key, {
        userUid: await this.createFirstTeam(tx),
        name: BOOTSTRAP_KEY_NAME,
        operator: true,
      });
      return given === undefined ? { generatedKey: key.key } : {};
    }
    if (given !== undefined) {
      await this.apiKeys.deleteNamed(tx, adminUid, BOOTSTRAP_KEY_NAME);
      await this.apiKeys.insertForUser(tx, describeApiKey(given), {
        userUid: adminUid,
        name: BOOTSTRAP_KEY_NAME,
        operator: true,
      });
    }
    return {};
  }

  /** A key for a built-in worker: an operator's, made anew at each start and replacing that of the start before. */
  async issueWorkerKey(tx: Tx, workerId: string): Promise<string> {
    const adminUid = await this.firstAdmin(tx);
    if (adminUid === undefined) throw new Error('the installation has no admin yet');
    const key = newApiKey();
    const name = `worker ${workerId}`;
    await this.apiKeys.deleteNamed(tx, adminUid, name);
    await this.apiKeys.insertForUser(tx, key, { userUid: adminUid, name, operator: true });
    return key.key;
  }

  private async firstAdmin(tx: Tx): Promise<string | undefined> {
    const rows = await tx.query<{ uid: string }>(
      `SELECT u.uid FROM users u JOIN memberships m ON m.user_uid = u.uid AND m.role = 'admin'
        ORDER BY u.created_at, u.uid LIMIT 1`,
    );
    return rows[0]?.uid;
  }

  private async createFirstTeam(tx: Tx): Promise<string> {
    const [teamUid, userUid] = [newUuid(), newUuid()];
    await tx.query(`INSERT INTO teams (uid, name) VALUES ($1, 'Default team')`, [teamUid]);
    await tx.query(`INSERT INTO users (uid, display_name) VALUES ($1, 'Admin')`, [userUid]);
    await tx.query(`INSERT INTO memberships (team_uid, user_uid, role) VALUES ($1, $2, 'admin')`, [
      teamUid,
      userUid,
    ]);
    return userUid;
  }
}
