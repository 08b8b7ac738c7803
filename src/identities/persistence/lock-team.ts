import type { Tx } from '../../kernel/persistence/database.js';

/**
 * Makes the transactions that add to a team or change its members take turns, so that what they count stays true until they commit.
 * Count in a later statement: only that one sees what was committed during the wait. Rows that merely refer to the team do not wait.
 */
export async function lockTeam(tx: Tx, teamUid: string): Promise<void> {
  await tx.query('SELECT 1 FROM teams WHERE uid = $1 FOR NO KEY UPDATE', [teamUid]);
}
