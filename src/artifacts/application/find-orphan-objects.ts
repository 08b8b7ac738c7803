import { Injectable } from '@nestjs/common';
import { Clock, MINUTE } from '../../kernel/clock.js';
import { decodeCursor, encodeCursor } from '../../kernel/pagination/cursor.js';
import { Database } from '../../kernel/persistence/database.js';
import { Keyring } from '../../kernel/security/keyring.js';
import { ObjectDeletions } from '../../kernel/storage/object-deletions.js';
import { type ListedObject, ObjectStorage } from '../../kernel/storage/object-storage.js';

/** Objects that one request looks at, however few of them are orphans. */
const PAGE = 1_000;
/** Files of a run are stored before the run is: a younger object may be named in a moment. */
const SETTLED_MS = 60 * MINUTE;
const SCOPE = 'orphan-objects';

/** Finds objects that no row names, such as the files of a run that was not created after all. */
@Injectable()
export class FindOrphanObjects {
  constructor(
    private readonly storage: ObjectStorage,
    private readonly deletions: ObjectDeletions,
    private readonly database: Database,
    private readonly keyring: Keyring,
    private readonly clock: Clock,
  ) {}

  /**
   * The orphans among the next {@link PAGE} objects in the order of their keys; there may be none, and further pages all the same.
   *
   * @throws Problem 400 for a garbled cursor
   */
  async execute(cursor: string | undefined): Promise<{ orphans: ListedObject[]; nextCursor?: string }> {
    const after = cursor === undefined ? undefined : String(decodeCursor(this.keyring, SCOPE, cursor)[0]);
    const objects = await this.storage.list(after, PAGE);
    const settled = objects.filter(
      ({ modifiedAt }) => modifiedAt.getTime() <= this.clock.now().getTime() - SETTLED_MS,
    );
    const keys = await this.deletions.orphansAmong(
      this.database,
      settled.map(({ key }) => key),
    );
    const last = objects.at(-1);
    return {
      orphans: settled.filter(({ key }) => keys.has(key)),
      nextCursor:
        objects.length < PAGE || last === undefined
          ? undefined
          : encodeCursor(this.keyring, SCOPE, [last.key]),
    };
  }
}
