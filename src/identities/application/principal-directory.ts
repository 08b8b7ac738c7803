import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';

export interface Principal {
  type: 'user' | 'service_account';
  uid: string;
  display_name: string;
  email?: string;
}

/** Names for uids, one query for all. */
@Injectable()
export class PrincipalDirectory {
  constructor(private readonly database: Database) {}

  async find(uids: string[]): Promise<Map<string, Principal>> {
    if (uids.length === 0) return new Map();
    const rows = await this.database.query<Omit<Principal, 'email'> & { email: string | null }>(
      `SELECT 'user' AS type, uid, display_name, email FROM users WHERE uid = ANY ($1::uuid[])
       UNION ALL
       SELECT 'service_account', uid, name, NULL FROM agents WHERE uid = ANY ($1::uuid[])`,
      [[...new Set(uids)]],
    );
    return new Map(rows.map((row) => [row.uid, { ...row, email: row.email ?? undefined }]));
  }
}
