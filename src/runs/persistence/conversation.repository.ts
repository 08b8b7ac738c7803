import { Injectable } from '@nestjs/common';
import { RUN_STATE_MACHINE } from '../domain/run-state.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { TOUCHED } from './run-transitions.js';
import type { RunVisibility } from './run.read-model.js';

export interface ConversationRow {
  id: string;
  format: string;
  transcript_key: string | null;
  normalised_key: string | null;
  /** What the agent's terminal showed. */
  block_snapshot_key: string | null;
}

@Injectable()
export class ConversationRepository {
  /** Starts a conversation for a run, or finds the one that it has; undefined when that is in another format. */
  async open(tx: Tx, runId: string, newId: string, format: string): Promise<string | undefined> {
    // The lock makes two calls of one runner take turns: a retry finds the first one's conversation.
    await tx.query('SELECT 1 FROM runs WHERE id = $1 FOR UPDATE', [runId]);
    const existing = await this.ofRun(tx, runId);
    if (existing !== undefined) return existing.format === format ? existing.id : undefined;
    await tx.query('INSERT INTO conversations (id, format) VALUES ($1, $2)', [newId, format]);
    await tx.query(`UPDATE runs r SET conversation_id = $2, ${TOUCHED} WHERE r.id = $1`, [runId, newId]);
    return newId;
  }

  async find(database: Queryable, id: string): Promise<ConversationRow | undefined> {
    const rows = await database.query<ConversationRow>(
      'SELECT id, format, transcript_key, normalised_key, block_snapshot_key FROM conversations WHERE id = $1',
      [id],
    );
    return rows[0];
  }

  /** Undefined also for the conversation of runs that are not within the scope. */
  async findVisible(
    database: Queryable,
    id: string,
    scope: RunVisibility,
  ): Promise<ConversationRow | undefined> {
    const rows = await database.query<ConversationRow>(
      `SELECT c.id, c.format, c.transcript_key, c.normalised_key, c.block_snapshot_key FROM conversations c
        WHERE c.id = $1 AND EXISTS (
              SELECT 1 FROM runs r WHERE r.conversation_id = c.id AND (r.team_uid = $2 OR r.owner_uid = $3 OR r.id = $4))`,
      [id, scope.teamUid, scope.ownerUid, scope.runId],
    );
    return rows[0];
  }

  /** Whether there is such a conversation and no run of it is under way. */
  async isAtRest(database: Queryable, id: string): Promise<boolean> {
    const rows = await database.query(
      `SELECT 1 FROM conversations c
        WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.conversation_id = c.id AND NOT r.state = ANY ($2))`,
      [id, RUN_STATE_MACHINE.sources('continue')],
    );
    return rows.length === 1;
  }

  async ofRun(database: Queryable, runId: string): Promise<ConversationRow | undefined> {
    const rows = await database.query<ConversationRow>(
      `SELECT c.id, c.format, c.transcript_key, c.normalised_key, c.block_snapshot_key
         FROM runs r JOIN conversations c ON c.id = r.conversation_id WHERE r.id = $1`,
      [runId],
    );
    return rows[0];
  }

  /** The transcript lies here from now on; what was derived from an earlier one is out of date. */
  async setTranscript(tx: Tx, id: string, transcriptKey: string): Promise<void> {
    await tx.query('UPDATE conversations SET transcript_key = $2, normalised_key = NULL WHERE id = $1', [
      id,
      transcriptKey,
    ]);
  }

  /** What the terminal showed lies here from now on. */
  async setBlockSnapshot(tx: Tx, id: string, key: string): Promise<void> {
    await tx.query('UPDATE conversations SET block_snapshot_key = $2 WHERE id = $1', [id, key]);
  }

  /** Unless the transcript has moved on since. */
  async setNormalised(tx: Tx, id: string, transcriptKey: string, normalisedKey: string): Promise<void> {
    await tx.query('UPDATE conversations SET normalised_key = $3 WHERE id = $1 AND transcript_key = $2', [
      id,
      transcriptKey,
      normalisedKey,
    ]);
  }
}
