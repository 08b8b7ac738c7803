import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { newApiKey } from '../src/identities/domain/api-key.js';
import type { Permission } from '../src/identities/domain/permission.js';
import { PERMISSIONS_OF_ROLE, type Role, ROLES, ROLES_OF_CALLER } from '../src/identities/domain/role.js';
import { renderAccessTable } from '../scripts/lib/access-table.mjs';
import { insertTeam, insertUser } from './support/identities.js';
import { exampleBody, type Operation, operationsOf } from './support/open-api.js';
import { SimulatedWorker } from './support/simulated-worker.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let document: OpenAPIObject;
let operations: Operation[];
let worker: SimulatedWorker;
const keys = new Map<Role | 'revoked' | 'expired' | 'stranger', string>();
/** A resource of the team for each kind of path parameter, by the path that ends with it. */
const resources = new Map<string, string>();

const keyOf = (name: Role | 'revoked' | 'expired' | 'stranger'): string => keys.get(name) ?? '';

const tryOut = (operation: Operation, key: string | undefined): Promise<Answer> =>
  server.call(
    operation.method,
    operation.path.replace(/\{[^}]+\}/g, (parameter, at: number) => {
      const kind = operation.path.slice(0, at) + parameter;
      const value = resources.get(kind);
      if (value === undefined) {
        throw new Error(
          `${kind} is a new kind of resource: make one in this test's set-up, so that others can be kept from it`,
        );
      }
      return value;
    }),
    bodyOf(operation),
    { Authorization: key === undefined ? '' : `Bearer ${key}` },
  );

/** Where the examples of the required fields alone are not a valid body. */
const BODIES: Record<string, object> = {
  'POST /v1/agent/environments/{uid}/shares': { kind: 'link' },
};

const bodyOf = ({ method, path, body }: Operation): unknown =>
  BODIES[`${method} ${path}`] ?? (body === undefined ? undefined : exampleBody(document, body));

const holds = (role: Role, permission: Permission): boolean =>
  ROLES_OF_CALLER[role].some((each) => PERMISSIONS_OF_ROLE[each].includes(permission));

beforeAll(async () => {
  server = await startTestApp();
  // Its routes and permissions from the service itself; the schemas from the file, which is made of the build.
  document = (await server.call('GET', '/openapi.json')).body as OpenAPIObject;
  document.components = (JSON.parse(await readFile('openapi.json', 'utf8')) as OpenAPIObject).components;
  operations = operationsOf(document);
  const { dataSource } = server;
  const team = await insertTeam(dataSource);
  const admin = await insertUser(dataSource, { teams: [team], role: 'admin' });
  const member = await insertUser(dataSource, { teams: [team] });
  const manager = await insertUser(dataSource, { teams: [team] });
  await dataSource.query(`UPDATE memberships SET permissions = '{manage_factory}' WHERE user_uid = $1`, [
    manager.uid,
  ]);
  keys.set('user', (await insertUser(dataSource, { teams: [] })).key);
  keys.set('member', member.key);
  keys.set('factory_manager', manager.key);
  keys.set('admin', admin.key);
  keys.set('operator', (await insertUser(dataSource, { teams: [], operator: true })).key);
  keys.set(
    'stranger',
    (await insertUser(dataSource, { teams: [await insertTeam(dataSource)], role: 'admin' })).key,
  );

  const make = async (path: string, body: object): Promise<Record<string, string>> => {
    const answer = await server.call('POST', path, body, admin.headers);
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body as Record<string, string>;
  };
  const agent = await make('/v1/agent/identities', { name: 'Agent' });
  const agentKey = await make('/v1/api-keys', { name: 'agent', agent_uid: agent.uid });
  keys.set('agent', agentKey.key ?? '');

  const revoked = await make('/v1/api-keys', { name: 'revoked' });
  keys.set('revoked', revoked.key ?? '');
  await server.call('DELETE', `/v1/api-keys/${revoked.uid ?? ''}`, undefined, admin.headers);
  const expired = newApiKey();
  await dataSource.query(
    `INSERT INTO api_keys (uid, name, prefix, last_four, hash, user_uid, expires_at)
     VALUES ($1, 'expired', $2, $3, $4, $5, now() - interval '1 second')`,
    [randomUUID(), expired.prefix, expired.lastFour, expired.hash, admin.uid],
  );
  keys.set('expired', expired.key);

  worker = await SimulatedWorker.connect(server);
  const { run_id } = await make('/v1/agent/runs', { prompt: 'Go' });
  const assignment = await worker.nextAssignment();
  worker.claim(assignment);
  keys.set('run', assignment.env_vars.WARP_API_KEY ?? '');
  const opened = await worker
    .runner(assignment)
    .call('POST', 'harness-support/external-conversation', { format: 'claude_code_cli' });

  const reported = await worker.runner(assignment).call('POST', 'harness-support/report-artifact', {
    artifact_type: 'PLAN',
    data: { document_uid: 'plan', content: 'One' },
  });

  const environment = await make('/v1/agent/environments', { name: 'Shop' });
  const share = await make(`/v1/agent/environments/${environment.uid ?? ''}/shares`, { kind: 'link' });
  await make('/v1/secrets', { name: 'A_SECRET', value: 'a-value', team: true });
  const factory = await make('/v1/factories', { name: 'Backend' });
  const webhook = await make(`/v1/factories/${factory.uid ?? ''}/webhooks`, { name: 'Hook' });
  const delivered = await fetch(webhook.ingress_url!.replace(/^https?:\/\/[^/]+/, server.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${webhook.secret!}` },
    body: '{}',
  });
  const { delivery_id } = (await delivered.json()) as { delivery_id: string };
  const automation = await make(`/v1/factories/${factory.uid ?? ''}/automations`, {
    name: 'Automation',
    prompt: 'Go',
    triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [webhook.uid] } }],
  });
  const scorer = await make('/v1/scorers', {
    name: 'A scorer',
    rubric: 'Did it do what was asked?',
    agent_uids: [agent.uid],
    labels: [
      { value: 'yes', score: 1 },
      { value: 'no', score: 0 },
    ],
    passing_score: 0.5,
  });
  const set = (kind: string, value: string | undefined): unknown => resources.set(kind, value ?? '');
  set('/v1/agent/runs/{runId}', run_id);
  set('/v1/agent/tasks/{runId}', run_id);
  set('/v1/agent/events/{runId}', run_id);
  await make(`/v1/agent/runs/${run_id ?? ''}/followups`, { message: 'More' });
  const messages = await server.call('GET', `/v1/agent/messages/${run_id ?? ''}`, undefined, admin.headers);
  set('/v1/agent/messages/{runId}', run_id);
  set('/v1/agent/messages/{messageId}', (messages.body as { message_id: string }[])[0]?.message_id);
  set('/v1/agent/artifacts/{artifactUid}', (reported.body as { artifact_uid: string }).artifact_uid);
  set(
    '/v1/agent/conversations/{conversationId}',
    (opened.body as { conversation_id: string }).conversation_id,
  );
  set('/v1/agent/sessions/{sessionUuid}', randomUUID());
  set(
    '/v1/agent/schedules/{scheduleId}',
    (await make('/v1/agent/schedules', { name: 'Daily', cron_schedule: '@daily', prompt: 'Go' })).id,
  );
  set('/v1/api-keys/{uid}', agentKey.uid);
  set('/v1/teams/{uid}', team);
  set('/v1/teams/{uid}/members/{userUid}', member.uid);
  set('/v1/agent/identities/{uid}', agent.uid);
  set('/v1/agent/environments/{uid}', environment.uid);
  set('/v1/agent/environments/{uid}/shares/{shareUid}', share.uid);
  set('/v1/secrets/{name}', 'A_SECRET');
  set('/v1/factories/{uid}', factory.uid);
  set('/v1/automations/{uid}', automation.uid);
  set('/v1/schemas/{kind}', 'webhook');
  set('/v1/webhooks/{uid}', webhook.uid);
  set('/v1/webhooks/{uid}/deliveries/{deliveryId}', delivery_id);
  set('/v1/scorers/{id}', String(scorer.id));
});
afterAll(async () => {
  await server.close();
});

/** Tries all of them and names those whose answer is not the expected one. */
const exceptions = async (
  tried: Operation[],
  key: string | undefined,
  expected: (answer: Answer) => boolean,
): Promise<string[]> => {
  const found: string[] = [];
  for (const operation of tried) {
    const answer = await tryOut(operation, key);
    if (!expected(answer)) {
      found.push(
        `${operation.method} ${operation.path}: ${String(answer.status)} ${JSON.stringify(answer.body)}`,
      );
    }
  }
  return found;
};

const isDenied = ({ status, body }: Answer): boolean =>
  status === 403 && /^The permission .* is needed$/.test((body as { detail: string }).detail);

describe('every operation of the OpenAPI document', () => {
  it('is public or declares the permission that it needs', () => {
    expect(operations.length).toBeGreaterThan(40);
    expect(operations.filter(({ permission, isPublic }) => (permission === undefined) !== isPublic)).toEqual(
      [],
    );
  });

  it.each([
    ['without a key', () => undefined],
    ['with a revoked key', () => keyOf('revoked')],
    ['with an expired key', () => keyOf('expired')],
    ['with a key that never was', () => newApiKey().key],
  ])('is refused with 401 %s, unless it is public', async (_, key) => {
    const guarded = operations.filter(({ isPublic }) => !isPublic);
    expect(await exceptions(guarded, key(), ({ status }) => status === 401)).toEqual([]);
  });

  it.each(ROLES)('is refused with 403 to the role %s where that lacks the permission', async (role) => {
    const lacking = operations.filter(
      ({ permission }) => permission !== undefined && !holds(role, permission),
    );
    expect(lacking.length).toBeGreaterThan(0);
    expect(await exceptions(lacking, keyOf(role), isDenied)).toEqual([]);
  });

  it('knows nothing of a resource of another team', async () => {
    const foreign = operations.filter(
      ({ path, permission }) => path.includes('{') && permission !== undefined && holds('admin', permission),
    );
    expect(foreign.length).toBeGreaterThan(15);
    expect(await exceptions(foreign, keyOf('stranger'), ({ status }) => status === 404)).toEqual([]);
  });

  it('is refused to the key of another run', async () => {
    const own = operations.filter(
      ({ permission, path }) => permission === 'execution:report' && path.includes('{'),
    );
    await server.call('POST', '/v1/agent/runs', { prompt: 'Go' });
    const { env_vars: variables } = await worker.nextAssignment();
    expect(await exceptions(own, variables.WARP_API_KEY, ({ status }) => status === 404)).toEqual([]);
  });

  it('stands in docs/access.md as it is (npm run docs:access)', async () => {
    const table = renderAccessTable(document, PERMISSIONS_OF_ROLE, ROLES_OF_CALLER);
    expect(await readFile('docs/access.md', 'utf8')).toBe(table);
  });
});
