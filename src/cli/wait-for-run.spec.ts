import { describe, expect, it } from '@jest/globals';
import type { Run } from './answers.js';
import type { Answer } from './api-client.js';
import { ApiError, UnreachableError } from './errors.js';
import { isTerminal, pauseBefore, waitForRun } from './wait-for-run.js';

const LONG_MS = 60_000;

/** Each look takes the next of these: a state, or an error. */
const looks = (...found: (string | Error)[]): (() => Promise<Answer<Run>>) => {
  return () => {
    const next = found.shift() ?? new Error('one look too many');
    return next instanceof Error
      ? Promise.reject(next)
      : Promise.resolve({ text: '', body: { state: next } as Run });
  };
};

it('looks less and less often, and at least every ten seconds', () => {
  expect([1, 2, 3, 4].map(pauseBefore)).toEqual([500, 750, 1125, 1687.5]);
  expect(pauseBefore(100)).toBe(10_000);
});

it.each([
  ['QUEUED', false],
  ['PENDING', false],
  ['CLAIMED', false],
  ['INPROGRESS', false],
  ['SUCCEEDED', true],
  ['FAILED', true],
  ['ERROR', true],
  ['BLOCKED', true],
  ['CANCELLED', true],
])('%s is an end: %s', (state, expected) => {
  expect(isTerminal(state)).toBe(expected);
});

describe('waiting', () => {
  it('ends with the run, through moments without a service, and tells each state once', async () => {
    const states: string[] = [];
    const read = looks('QUEUED', new UnreachableError('away'), 'QUEUED', 'SUCCEEDED');
    const { body } = await waitForRun(read, { timeoutMs: LONG_MS, onState: (state) => states.push(state) });
    expect(body.state).toBe('SUCCEEDED');
    expect(states).toEqual(['QUEUED', 'SUCCEEDED']);
  });

  it('ends at once when the service refuses', async () => {
    const refusal = new ApiError({ error_code: 'resource_not_found' });
    await expect(waitForRun(looks(refusal), { timeoutMs: LONG_MS, onState: () => undefined })).rejects.toBe(
      refusal,
    );
  });

  it('ends in time', async () => {
    // A timer may fire a little before its time: there can be one look more.
    const always = looks(...Array.from({ length: 10 }, () => 'QUEUED'));
    await expect(waitForRun(always, { timeoutMs: 1, onState: () => undefined })).rejects.toThrow(
      'The run has not ended in time: it is QUEUED, and goes on.',
    );
  });
});
