import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { describeApiKey, newApiKey } from '../domain/api-key.js';
import { ApiKeyRepository } from '../persistence/api-key.repository.js';
import { TeamRepository } from '../persistence/team.repository.js';

const BOOTSTRAP_LOCK = 7_236_511_409;
const BOOTSTRAP_KEY_NAME = 'bootstrap';

/** Makes a fresh installation usable: the first team with its default agent, its admin, and an operator's key for them. */
@Injectable()
export class BootstrapInstallation {
  constructor(
    private readonly apiKeys: ApiKeyRepository,
    private readonly teams: TeamRepository,
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
    const adminUid = await this.firstUser(tx);
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
    const adminUid = await this.firstUser(tx);
    if (adminUid === undefined) throw new Error('the installation has no user yet');
    const key = newApiKey();
    const name = `worker ${workerId}`;
    await this.apiKeys.deleteNamed(tx, adminUid, name);
    await this.apiKeys.insertForUser(tx, key, { userUid: adminUid, name, operator: true });
    return key.key;
  }

  /** Whoever the installation began with: their keys stay theirs, whatever becomes of their memberships. */
  private async firstUser(tx: Tx): Promise<string | undefined> {
    const rows = await tx.query<{ uid: string }>('SELECT uid FROM users ORDER BY created_at, uid LIMIT 1');
    return rows[0]?.uid;
  }

  private async createFirstTeam(tx: Tx): Promise<string> {
    const admin = await this.teams.insertUser(tx, { displayName: 'Admin' });
    if (admin === undefined) throw new Error('the first admin was not made');
    await this.teams.insertTeam(tx, 'Default team', admin.uid);
    return admin.uid;
  }
}
