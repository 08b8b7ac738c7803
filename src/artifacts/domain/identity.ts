import { createHash } from 'node:crypto';

/** What a repeated report is recognised by: a hash, as an index holds 2.7 KB an entry and a URL may be longer. */
export const identityOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
