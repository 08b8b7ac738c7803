export {
  CronTriggers,
  type DueTick,
  type InvalidRule,
  type PlanTicks,
  type TickPlan,
  type TriggerKind,
  type TriggerRequest,
} from './application/cron-triggers.js';
export { FireTriggers } from './application/fire-triggers.js';
export { SchedulesModule } from './schedules.module.js';
