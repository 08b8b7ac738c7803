import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { type Answer, call, startTestApp, type TestApp } from './support/test-app.js';
import { githubSignature, insertWebhook, type NewWebhook, type TestWebhook } from './support/webhooks.js';

let service: TestApp;

beforeAll(async () => {
  // Nobody evaluates: what is queued stays to be looked at.
  service = await startTestApp({ ROLES: 'api,ingress,dispatcher,sweeper' });
});
afterAll(() => service.close());

const webhook = (options: NewWebhook = {}): Promise<TestWebhook> =>
  insertWebhook({ dataSource: service.dataSource, box: service.app.get(SecretBox) }, options);

const deliver = (
  { path }: { path: string },
  body: string,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<Answer> => call(service.url + path, method, body, { Authorization: '', ...headers });

describe('a delivery', () => {
  it('is accepted and recorded, byte for byte, and queued for evaluation', async () => {
    const target = await webhook();
    const body = '{"b":1,"a":1.0, "a":"\\u0000\\ud800"}';
    const answer = await deliver(target, body, { Authorization: `Bearer ${target.secret}` });
    expect(answer).toMatchObject({ status: 202, body: { delivery_id: expect.any(String) } });
    const { delivery_id } = answer.body as { delivery_id: string };
    const rows = await service.dataSource.query<{ payload: Buffer; status: string }[]>(
      `SELECT d.*, q.attempts FROM webhook_deliveries d JOIN webhook_evaluation_queue q ON q.delivery_id = d.id
        WHERE d.webhook_uid = $1`,
      [target.uid],
    );
    expect(rows).toMatchObject([
      { id: delivery_id, status: 'accepted', size_bytes: body.length, attempts: 0 },
    ]);
    expect(rows[0]!.payload.toString()).toBe(body);
  });

  it('is accepted once: the same again answers with the first id', async () => {
    const target = await webhook({ scheme: 'github' });
    const headers = {
      'X-Hub-Signature-256': githubSignature(target.secret, '{}'),
      'X-GitHub-Delivery': 'one',
    };
    const first = await deliver(target, '{}', headers);
    const second = await deliver(target, '{}', headers);
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body).toEqual(first.body);
  });
});
