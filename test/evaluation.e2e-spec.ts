import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EvaluationLog } from '../src/webhooks/index.js';
import { Database } from '../src/kernel/persistence/database.js';
import { createAutomation, deliver, insertFactory } from './support/automations.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;

beforeAll(async () => {
  server = await startTestApp({ WEBHOOK_DELIVERIES_PER_MINUTE: '0', WORKER_SLOTS: '0' });
});
afterAll(() => server.close());

const evaluationsOf = (deliveryId: string) =>
  eventually(
    async () => {
      const found = await server.app.get(EvaluationLog).ofDelivery(server.app.get(Database), deliveryId);
      return found.length > 0 && found.every(({ outcome }) => outcome !== 'pending') ? found : undefined;
    },
    { what: `the evaluation of ${deliveryId}` },
  );

describe('a delivery', () => {
  it('starts a run for every automation that it matches, and for no other', async () => {
    const factory = await insertFactory(server);
    const matching = await createAutomation(server, factory, { action: ['opened'] });
    const other = await createAutomation(server, factory, { action: ['closed'] });
    const all = await createAutomation(server, factory);
    const began = performance.now();
    const delivery = await deliver(server, factory.webhook, { action: 'opened' });
    const evaluations = await evaluationsOf(delivery);
    console.log(performance.now() - began, evaluations);
    expect(evaluations).toHaveLength(3);
    expect(matching && other && all).toBeTruthy();
  });
});
