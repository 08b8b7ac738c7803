import { Problem } from '../errors/problem.js';
import type { Keyring } from '../security/keyring.js';
import { readToken, signToken } from '../security/signed-token.js';

interface CursorContent {
  /** What the cursor was made for: sort, direction and filters. */
  scope: string;
  /** The sort key of the last row of the page, its id last. */
  after: (string | number | boolean | null)[];
}

/** A keyset cursor: opaque, tamper-proof, and valid only for the sort and the filters that it was made with. */
export function encodeCursor(keyring: Keyring, scope: string, after: CursorContent['after']): string {
  return signToken(keyring, 'cursor', { scope, after } satisfies CursorContent);
}

/** @throws Problem 400 naming `cursor` when it was garbled, or made for another sort or other filters */
export function decodeCursor(keyring: Keyring, scope: string, cursor: string): CursorContent['after'] {
  const content = readToken(keyring, 'cursor', cursor) as CursorContent | undefined;
  if (content?.scope !== scope) {
    throw Problem.invalid([
      { field: 'cursor', message: 'must be the next_cursor of a page with the same sort and filters' },
    ]);
  }
  return content.after;
}
