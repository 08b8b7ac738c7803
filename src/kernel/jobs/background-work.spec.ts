import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { parseConfig } from '../../config/parse-config.js';
import { currentRequest } from '../http/request-context.js';
import { BackgroundWork } from './background-work.js';

describe('background work', () => {
  const complaint = 'nothing could be done';
  let background: BackgroundWork;
  let finish: () => void;
  let fail: (error: Error) => void;
  let logged: jest.SpiedFunction<Logger['error']>;
  const work = jest.fn(
    () =>
      new Promise<void>((resolve, reject) => {
        finish = resolve;
        fail = reject;
      }),
  );

  beforeEach(() => {
    work.mockClear();
    background = new BackgroundWork(parseConfig({ ROLES: 'sweeper' }));
    logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });
  afterEach(() => {
    logged.mockRestore();
  });

  it('has one round at a time, and others beside it', async () => {
    const first = background.round({ complaint }, work);
    await background.round({ complaint }, work);
    expect(work).toHaveBeenCalledTimes(1);
    let other = false;
    await background.round({ complaint: 'another' }, () => Promise.resolve((other = true)));
    expect(other).toBe(true);
    finish();
    await first;
    void background.round({ complaint }, work);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('is done by processes that have the role', async () => {
    await background.round({ complaint, role: 'scheduler' }, work);
    expect(work).not.toHaveBeenCalled();
    void background.round({ complaint, role: 'sweeper' }, work);
    expect(work).toHaveBeenCalled();
  });

  it('has a trace id of its own', async () => {
    let traceId: string | undefined;
    await background.round({ complaint }, () => Promise.resolve((traceId = currentRequest()?.traceId)));
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  });

  it('goes on after a failure, which is logged', async () => {
    const round = background.round({ complaint }, work);
    const error = new Error('no');
    fail(error);
    await round;
    expect(logged).toHaveBeenCalledWith({ err: error }, 'nothing could be done; the next round tries again');
    void background.round({ complaint }, work);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('ends with the process: what is under way is waited for, and nothing begins', async () => {
    void background.round({ complaint }, work);
    let stopped = false;
    const stop = background.beforeApplicationShutdown().then(() => (stopped = true));
    await background.round({ complaint: 'another' }, work);
    expect([work.mock.calls.length, background.isStopping, stopped]).toEqual([1, true, false]);
    fail(new Error('the database is gone'));
    await stop;
    expect(logged).not.toHaveBeenCalled();
  });
});
