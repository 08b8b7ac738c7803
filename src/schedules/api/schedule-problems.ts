import { Problem } from '../../kernel/errors/problem.js';
import type { InvalidRule } from '../application/cron-triggers.js';

export const noSuchSchedule = (): Problem => Problem.notFound('schedule');

/** Names the field of the request. */
export const invalidRule = ({ field, message }: InvalidRule): Problem =>
  Problem.invalid([{ field: field === 'cron' ? 'cron_schedule' : field, message }]);

export const tooManySchedules = (limit: number): Problem =>
  new Problem('budget_exceeded', {
    detail: `A team, and a person, has at most ${String(limit)} schedules`,
  });
