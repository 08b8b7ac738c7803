import { describe, expect, it } from '@jest/globals';
import { Inbox } from './inbox.js';

const HOUR = 3_600_000;

describe('Inbox', () => {
  it('wakes whoever waits, and whoever comes later, once', async () => {
    const inbox = new Inbox();
    const waiting = inbox.wait(HOUR);
    inbox.ring();
    await waiting;
    inbox.ring();
    await inbox.wait(HOUR);
    const startedAt = performance.now();
    await inbox.wait(30);
    expect(performance.now() - startedAt).toBeGreaterThan(25);
  });
});
