import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { newUuid } from '../../src/kernel/ids.js';
import { SecretBox } from '../../src/kernel/security/secret-box.js';
import { type Answer, call, eventually, type TestApp } from './test-app.js';
import { insertWebhook, type TestWebhook } from './webhooks.js';

export interface TestFactory {
  uid: string;
  webhook: TestWebhook;
}

/** A factory of the first team with a webhook that takes a bearer token. */
export async function insertFactory(server: TestApp): Promise<TestFactory> {
  const webhook = await insertWebhook({ dataSource: server.dataSource, box: server.app.get(SecretBox) });
  return { uid: await factoryOf(server.dataSource, webhook.uid), webhook };
}

/** Another webhook of the factory. */
export async function insertWebhookInto(server: TestApp, factoryUid: string): Promise<TestWebhook> {
  const webhook = await insertWebhook({ dataSource: server.dataSource, box: server.app.get(SecretBox) });
  await server.dataSource.query('UPDATE webhooks SET factory_uid = $2, name = uid::text WHERE uid = $1', [
    webhook.uid,
    factoryUid,
  ]);
  return webhook;
}

async function factoryOf(dataSource: DataSource, webhookUid: string): Promise<string> {
  const [row] = await dataSource.query<{ factory_uid: string }[]>(
    'SELECT factory_uid FROM webhooks WHERE uid = $1',
    [webhookUid],
  );
  return row!.factory_uid;
}

export interface Automation {
  uid: string;
  name: string;
  enabled: boolean;
  prompt: string;
  triggers: { provider: string; filter?: { webhook_ids: string[] }; webhook_deleted?: boolean }[];
}

let automations = 0;

/** What an automation of the webhook is asked for with. */
export const automationRequest = (webhook: TestWebhook, payload?: object, rest: object = {}): object => ({
  name: `automation ${(automations += 1)}`,
  prompt: 'Look into it.',
  triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [webhook.uid], payload } }],
  ...rest,
});

/** An automation that starts runs for what the filter matches. @returns its uid */
export async function createAutomation(
  server: TestApp,
  factory: TestFactory,
  payload?: object,
  rest: object = {},
): Promise<string> {
  const request = automationRequest(factory.webhook, payload, rest);
  const answer = await server.call('POST', `/v1/factories/${factory.uid}/automations`, request);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return (answer.body as Automation).uid;
}

/** @returns the delivery's id */
export async function deliver(server: TestApp, webhook: TestWebhook, body: unknown): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await call(server.url + webhook.path, 'POST', text, {
    Authorization: `Bearer ${webhook.secret}`,
    'X-Service-Delivery-Id': randomBytes(8).toString('hex'),
  });
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  return (answer.body as { delivery_id: string }).delivery_id;
}

/** Accepted deliveries, as the ingress would record and queue them. @returns their ids */
export async function insertDeliveries(
  dataSource: DataSource,
  webhookUid: string,
  payloads: unknown[],
): Promise<string[]> {
  const ids = payloads.map(() => newUuid());
  await dataSource.query(
    `WITH given AS (SELECT * FROM unnest($2::uuid[], $3::text[]) AS g (id, payload)), logged AS (
       INSERT INTO webhook_deliveries (id, webhook_uid, status, size_bytes, received_at, headers, payload)
       SELECT id, $1, 'accepted', length(payload), now(), '{}', convert_to(payload, 'UTF8') FROM given
     )
     INSERT INTO webhook_evaluation_queue (webhook_uid, delivery_id, available_at) SELECT $1, id, now() - interval '1 second' FROM given`,
    [webhookUid, ids, payloads.map((payload) => JSON.stringify(payload))],
  );
  return ids;
}

export interface Evaluation {
  automation_uid: string;
  outcome: string;
  run_id?: string;
  failed_path?: string;
  reason?: string;
}

/** What every automation made of the delivery, once none is pending. */
export const evaluationsOf = (
  server: TestApp,
  webhookUid: string,
  deliveryId: string,
): Promise<Evaluation[]> =>
  eventually(
    async () => {
      const { body }: Answer = await server.call(
        'GET',
        `/v1/webhooks/${webhookUid}/deliveries/${deliveryId}`,
      );
      const { evaluations = [] } = body as { evaluations?: Evaluation[] };
      const isDecided = evaluations.every(({ outcome }) => outcome !== 'pending');
      return evaluations.length > 0 && isDecided ? evaluations : undefined;
    },
    { what: `the evaluation of ${deliveryId}` },
  );
