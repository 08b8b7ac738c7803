import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Queryable } from '../../kernel/persistence/database.js';
import type { EnvironmentConfig } from '../domain/environment-config.js';
import type { EnvironmentView } from '../domain/environment-view.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';

/** Environments, for the contexts that use them. */
@Injectable()
export class Environments {
  constructor(private readonly environments: EnvironmentReadModel) {}

  /**
   * The environment, if the caller may read it and use it for a run: it is their own or that of the team they act for, or it was
   * shared with either, or they have opened its link. Undefined otherwise, whether or not there is one.
   *
   * @param uid of any form: a malformed one is unknown
   */
  usable(database: Queryable, caller: AccountCaller, uid: string): Promise<EnvironmentView | undefined> {
    return this.environments.find(database, caller, uid);
  }

  /**
   * One query, however many they are.
   *
   * @param asked undefined `uid` = none is asked for
   * @returns in their order whether {@link usable} would find it
   */
  async areUsable(
    database: Queryable,
    asked: { caller: AccountCaller; uid: string | undefined }[],
  ): Promise<boolean[]> {
    const named = asked.flatMap(({ caller, uid }, index) =>
      uid === undefined ? [] : [{ caller, uid, index }],
    );
    if (named.length === 0) return asked.map(() => false);
    const usable = await this.environments.areUsable(database, named);
    const indexes = new Set(named.flatMap(({ index }, place) => (usable[place] === true ? [index] : [])));
    return asked.map((_, index) => indexes.has(index));
  }

  /** The configurations of those of the environments that the caller may read, by uid. */
  async readable(
    database: Queryable,
    caller: AccountCaller,
    uids: string[],
  ): Promise<Map<string, EnvironmentConfig>> {
    if (uids.length === 0) return new Map();
    const environments = await this.environments.findAll(database, caller, uids);
    return new Map(environments.map(({ uid, config }) => [uid, config]));
  }

  /** What an execution is set up by, whoever executes it; undefined once the environment has been deleted. */
  config(database: Queryable, uid: string): Promise<EnvironmentConfig | undefined> {
    return this.environments.config(database, uid);
  }
}
