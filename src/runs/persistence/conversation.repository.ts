import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

export interface ConversationRow {
  id: string;
  format: string;
  transcript_key: string | null;
  normalised_key: string | null;
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
    await tx.query('UPDATE runs SET conversation_id = $2, updated_at = now() WHERE id = $1', [runId, newId]);
    return newId;
  }

  async find(database: Queryable, id: string): Promise<ConversationRow | undefined> {
    const rows = await database.query<ConversationRow>(
      'SELECT id, format, transcript_key, normalised_key FROM conversations WHERE id = $1',
      [id],
    );
    return rows[0];
  }

  async ofRun(database: Queryable, runId: string): Promise<ConversationRow | undefined> {
    const rows = await database.query<ConversationRow>(
      `SELECT c.id, c.format, c.transcript_key, c.normalised_key
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

  /** Unless the transcript has moved on since. */
  async setNormalised(tx: Tx, id: string, transcriptKey: string, normalisedKey: string): Promise<void> {
    await tx.query('UPDATE conversations SET normalised_key = $3 WHERE id = $1 AND transcript_key = $2', [
      id,
      transcriptKey,
      normalisedKey,
    ]);
  }
}
