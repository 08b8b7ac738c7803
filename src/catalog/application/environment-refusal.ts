import type { AccountCaller } from '../../identities/index.js';
import type { Queryable } from '../../kernel/persistence/database.js';
import type { Refusal } from '../domain/environment-view.js';
import type { EnvironmentReadModel } from '../persistence/environment.read-model.js';

/** Why a statement that only owners may make changed nothing: whoever knows of the environment learns that, nobody else. */
export async function refusal(
  environments: EnvironmentReadModel,
  database: Queryable,
  caller: AccountCaller,
  uid: string,
): Promise<Refusal> {
  const known = await environments.find(database, caller, uid);
  return { outcome: known === undefined ? 'not_found' : 'guests_only_use' };
}
