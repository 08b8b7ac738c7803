import { Injectable } from '@nestjs/common';
import { Environments } from '../../catalog/index.js';
import { type AccountCaller, PrincipalDirectory } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { Schedule } from '../domain/schedule.js';
import { type ScheduleResponse, toScheduleResponse } from './schedule.dto.js';

/** Puts what schedules need of others into their responses: names of people, and environments. */
@Injectable()
export class ScheduleResponses {
  constructor(
    private readonly principals: PrincipalDirectory,
    private readonly environments: Environments,
    private readonly database: Database,
  ) {}

  async one(caller: AccountCaller, schedule: Schedule): Promise<ScheduleResponse> {
    const [response] = await this.all(caller, [schedule]);
    if (response === undefined) throw new Error('one schedule makes one response');
    return response;
  }

  /** Two queries, however many there are. */
  async all(caller: AccountCaller, schedules: Schedule[]): Promise<ScheduleResponse[]> {
    const named = schedules.flatMap(({ agentConfig }) => agentConfig?.environment_id ?? []);
    const [principals, environments] = await Promise.all([
      this.principals.find(schedules.flatMap(({ createdBy, updatedBy }) => [createdBy, updatedBy])),
      this.environments.readable(this.database, caller, [...new Set(named)]),
    ]);
    return schedules.map((schedule) =>
      toScheduleResponse(schedule, principals, environments.get(schedule.agentConfig?.environment_id ?? '')),
    );
  }
}
