/**
 * Wall-clock time of this process, for signed URLs and for what a person injects in a test. What several replicas must agree on
 * (leases, deadlines, timestamps of rows) is taken from the database instead: see docs/adr/0004-database-time.md.
 */
export abstract class Clock {
  abstract now(): Date;
}

export class SystemClock extends Clock {
  now(): Date {
    return new Date();
  }
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const DAY = 24 * 60 * MINUTE;
