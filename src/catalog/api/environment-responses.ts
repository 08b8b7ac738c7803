import { Injectable } from '@nestjs/common';
import { type AccountCaller, PrincipalDirectory } from '../../identities/index.js';
import { EnvironmentRuns } from '../application/environment-runs.js';
import type { EnvironmentView } from '../domain/environment-view.js';
import { EnvironmentResponse, toEnvironmentResponse } from './environment.dto.js';

/** Puts what environments need of others into their responses: names of people, and the latest run of each. */
@Injectable()
export class EnvironmentResponses {
  constructor(
    private readonly principals: PrincipalDirectory,
    private readonly runs: EnvironmentRuns,
  ) {}

  async one(caller: AccountCaller, environment: EnvironmentView): Promise<EnvironmentResponse> {
    const [response] = await this.all(caller, [environment]);
    if (response === undefined) throw new Error('one environment makes one response');
    return response;
  }

  /** Two queries, however many there are. */
  async all(caller: AccountCaller, environments: EnvironmentView[]): Promise<EnvironmentResponse[]> {
    const [principals, latestRuns] = await Promise.all([
      this.principals.find(environments.flatMap((one) => [one.creator_uid, one.last_editor_uid])),
      this.runs.latest(environments.map((one) => one.uid)),
    ]);
    return environments.map((one) => toEnvironmentResponse(one, caller, principals, latestRuns.get(one.uid)));
  }
}
