import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { firstTeam, insertTeam, insertUser } from './support/identities.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

type Files = Record<string, string>;

let server: TestApp;
let factory: string;

beforeAll(async () => {
  server = await startTestApp({ WORKER_SLOTS: '0' });
  for (const [name, value] of Object.entries({
    GITHUB_SECRET: 'a-secret-of-github',
    TOKEN: 'a-bearer-token-1',
    UNSAFE: 'not/url/safe?',
  })) {
    await server.call('POST', '/v1/secrets', { name, value, team: true });
  }
});
afterAll(() => server.close());
beforeEach(async () => {
  const { body } = await server.call('POST', '/v1/factories', { name: `factory ${randomUUID()}` });
  factory = (body as { uid: string }).uid;
});

const apply = (files: Files, dryRun?: boolean): Promise<Answer> =>
  server.call('POST', `/v1/factories/${factory}/definition`, {
    files: { 'factory.yaml': '', ...files },
    dry_run: dryRun,
  });
const planOf = ({ status, body }: Answer): string[] => {
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body as { plan: { action: string; kind: string; name: string }[] }).plan.map(
    ({ action, kind, name }) => `${action} ${kind} ${name}`,
  );
};
const errorsOf = ({ status, body }: Answer): string[] => {
  expect(status).toBe(400);
  return (body as { errors: { file: string; line: number; field: string; message: string }[] }).errors.map(
    ({ file, line, field, message }) => `${file}:${line}: ${field}: ${message}`,
  );
};
const list = async <T>(what: string): Promise<T[]> => {
  const { body } = await server.call('GET', `/v1/factories/${factory}/${what}`);
  return (body as Record<string, T[]>)[what]!;
};
const webhooks = () =>
  list<{ uid: string; name: string; auth_mode: string; secret_name: string }>('webhooks');
const automations = () => list<{ name: string; agent_uid?: string; triggers: object[] }>('automations');
const agent = async (
  name: string,
): Promise<{ uid: string; available: boolean; prompt: string } | undefined> => {
  const { body } = await server.call('GET', '/v1/agent/identities');
  return (
    body as { agents: { uid: string; name: string; available: boolean; prompt: string }[] }
  ).agents.find((each) => each.name === name);
};

const TOKEN_WEBHOOK = 'secretName: TOKEN\n';
const GITHUB_WEBHOOK = 'authMode: signature\nsignatureScheme: github\nsecretName: GITHUB_SECRET\n';
const triage = (webhookUid: string, agentName = 'fixer'): string =>
  `---\nagent: ${agentName}\ntriggers:\n  - provider: webhook\n    event: received\n    filter:\n      webhook_ids: [${webhookUid}]\n      payload: { action: [completed] }\n---\n\nFind out why.\n`;

describe('applying a definition', () => {
  it('makes what is new, changes what is different, deletes what is absent and disables agents', async () => {
    const first = {
      'webhooks/github.yaml': GITHUB_WEBHOOK,
      'webhooks/alerts.yaml': TOKEN_WEBHOOK,
      'agents/fixer/agent.md': 'You fix builds.',
    };
    expect(planOf(await apply(first))).toEqual([
      'create agent fixer',
      'create webhook alerts',
      'create webhook github',
    ]);
    const [alerts, github] = await webhooks();
    expect([alerts, github]).toMatchObject([{ name: 'alerts' }, { name: 'github', auth_mode: 'signature' }]);

    const second = { ...first, 'automations/triage/automation.md': triage(github!.uid) };
    expect(planOf(await apply(second))).toEqual(['create automation triage']);
    const fixer = await agent('fixer');
    expect(await automations()).toMatchObject([{ name: 'triage', agent_uid: fixer?.uid }]);
    expect(planOf(await apply(second))).toEqual([]);

    const third = {
      'webhooks/github.yaml': GITHUB_WEBHOOK,
      'automations/triage/automation.md': triage(github!.uid, fixer!.uid),
    };
    expect(planOf(await apply(third))).toEqual(['disable agent fixer', 'delete webhook alerts']);
    expect((await webhooks()).map(({ uid }) => uid)).toEqual([github!.uid]);
    expect((await agent('fixer'))?.available).toBe(false);

    expect(planOf(await apply({ ...third, 'agents/fixer/agent.md': 'You fix builds well.' }))).toEqual([
      'update agent fixer',
    ]);
    expect(await agent('fixer')).toMatchObject({ available: true, prompt: 'You fix builds well.' });
    expect(planOf(await apply({}))).toEqual([
      'disable agent fixer',
      'delete webhook github',
      'delete automation triage',
    ]);
  });

  it('says in a dry run what would change, and changes nothing', async () => {
    const answer = await apply({ 'webhooks/alerts.yaml': TOKEN_WEBHOOK }, true);
    expect(planOf(answer)).toEqual(['create webhook alerts']);
    expect(answer.body).toMatchObject({ applied: false });
    expect(await webhooks()).toEqual([]);
    expect((await apply({ 'webhooks/alerts.yaml': TOKEN_WEBHOOK })).body).toMatchObject({ applied: true });
    expect(await webhooks()).toHaveLength(1);
  });

  it('does nothing at all when anything is wrong, and names every place', async () => {
    await apply({ 'webhooks/old.yaml': TOKEN_WEBHOOK });
    const answer = await apply({
      'factory.yaml': 'mode: repository\nname: another\n',
      'webhooks/a.yaml': TOKEN_WEBHOOK,
      'webhooks/missing.yaml': '# a comment\nsecretName: NO_SUCH_SECRET\n',
      'webhooks/unsafe.yaml': 'authMode: url_token\nsecretName: UNSAFE\n',
      'webhooks/leak.yaml': 'secretName: TOKEN\ndeliveryIdHeader: Authorization\n',
      'automations/triage/automation.md': triage(randomUUID(), 'nobody'),
      'automations/empty/automation.md':
        '---\ntriggers: [{ provider: schedule, event: cron_fired, schedule: { cron: 0 0 31 2 * } }]\n---\n',
    });
    expect(errorsOf(answer).map((error) => error.split(': ').slice(0, 2).join(' '))).toEqual(
      expect.arrayContaining([
        'factory.yaml:2 name',
        'webhooks/missing.yaml:2 secretName',
        'webhooks/unsafe.yaml:2 secretName',
        'webhooks/leak.yaml:2 deliveryIdHeader',
        'automations/triage/automation.md:2 agent',
        'automations/triage/automation.md:7 triggers.0.filter.webhook_ids.0',
        'automations/empty/automation.md:2 ',
        'automations/empty/automation.md:2 triggers.0.schedule.cron',
      ]),
    );
    expect((await webhooks()).map(({ name }) => name)).toEqual(['old']);
    expect((await server.call('GET', `/v1/factories/${factory}`)).body).toMatchObject({ mode: 'managed' });
  });

  it('names the lines of files that cannot be read', async () => {
    expect(errorsOf(await apply({ 'webhooks/a.yaml': 'secretName: TOKEN\nauthmode: token\n' }))).toEqual([
      'webhooks/a.yaml:2: authmode: is not a known field',
    ]);
    const { status, body } = await server.call('POST', `/v1/factories/${factory}/definition`, {
      files: { 'factory.yaml': 1 },
    });
    expect([status, body]).toMatchObject([400, { errors: [{ field: 'files' }] }]);
  });

  it('warns of a webhook that was deleted, and of a trigger that names none', async () => {
    await apply({ 'webhooks/alerts.yaml': TOKEN_WEBHOOK });
    const [alerts] = await webhooks();
    const none =
      '---\ntriggers: [{ provider: webhook, event: received, filter: { webhook_ids: [] } }]\n---\nGo.\n';
    const answer = await apply({
      'agents/fixer/agent.md': '',
      'automations/triage/automation.md': triage(alerts!.uid),
      'automations/none/automation.md': none,
    });
    expect(answer.body).toMatchObject({
      warnings: [
        { file: 'automations/none/automation.md', field: 'triggers.0.filter.webhook_ids' },
        {
          file: 'automations/triage/automation.md',
          line: 7,
          message: 'names the webhook alerts, which was deleted',
        },
      ],
    });
    const found = await automations();
    expect(found.find(({ name }) => name === 'triage')).toMatchObject({
      triggers: [{ webhook_deleted: true }],
    });
  });

  it('gives a webhook the present value of its secret', async () => {
    await server.call('POST', '/v1/secrets', { name: 'ROLLING', value: 'the-first-value', team: true });
    const files = { 'webhooks/a.yaml': 'secretName: ROLLING\n' };
    await apply(files);
    expect(planOf(await apply(files))).toEqual([]);
    await server.call('PUT', '/v1/secrets/ROLLING', { value: 'the-second-value', team: true });
    const [webhook] = await webhooks();
    const send = async (token: string): Promise<number> =>
      (await server.call('POST', `/webhooks/w/${webhook!.uid}`, '{}', { Authorization: `Bearer ${token}` }))
        .status;
    expect([await send('the-first-value'), await send('the-second-value')]).toEqual([202, 401]);
    expect(planOf(await apply(files))).toEqual(['update webhook a']);
    expect([await send('the-first-value'), await send('the-second-value')]).toEqual([401, 202]);
  });

  it('lets a webhook keep its uid when it proves its senders another way', async () => {
    await apply({ 'webhooks/a.yaml': TOKEN_WEBHOOK });
    const [before] = await webhooks();
    expect(planOf(await apply({ 'webhooks/a.yaml': GITHUB_WEBHOOK }))).toEqual(['update webhook a']);
    expect(await webhooks()).toMatchObject([{ uid: before!.uid, auth_mode: 'signature' }]);
  });

  it('renames no webhook whose file is called alike in another case', async () => {
    await apply({ 'webhooks/hook.yaml': TOKEN_WEBHOOK });
    const [before] = await webhooks();
    expect(planOf(await apply({ 'webhooks/HOOK.yaml': TOKEN_WEBHOOK }))).toEqual([]);
    expect(planOf(await apply({ 'webhooks/HOOK.yaml': GITHUB_WEBHOOK }))).toEqual(['update webhook hook']);
    expect(await webhooks()).toMatchObject([{ uid: before!.uid, name: 'hook', auth_mode: 'signature' }]);
  });

  it('makes a factory one that the API does not edit, and goes on changing it', async () => {
    const files = { 'factory.yaml': 'mode: repository\n', 'webhooks/a.yaml': TOKEN_WEBHOOK };
    expect(planOf(await apply(files))).toEqual([
      `update factory ${await nameOfFactory()}`,
      'create webhook a',
    ]);
    const automation = { name: 'x', prompt: 'Go', triggers: [] };
    const refused = await server.call('POST', `/v1/factories/${factory}/automations`, automation);
    expect([refused.status, refused.body]).toMatchObject([409, { error_code: 'conflict', retryable: false }]);
    const more = { ...files, 'automations/x/automation.md': 'Go.' };
    expect(planOf(await apply(more))).toEqual(['create automation x']);
    const [{ uid } = { uid: '' }] = await list<{ uid: string }>('automations');
    expect((await server.call('PUT', `/v1/automations/${uid}`, automation)).status).toBe(409);
    expect((await server.call('DELETE', `/v1/automations/${uid}`)).status).toBe(409);
  });

  it('makes agents that the API edits no more, until the factory is managed again', async () => {
    const files = { 'factory.yaml': 'mode: repository\n', 'agents/defined/agent.md': 'You fix builds.' };
    await apply(files);
    const { uid } = (await agent('defined'))!;
    const edit = (headers?: Record<string, string>): Promise<Answer> =>
      server.call('PUT', `/v1/agent/identities/${uid}`, { prompt: 'You break them.' }, headers);
    const refused = await edit();
    expect([refused.status, refused.body]).toMatchObject([409, { error_code: 'conflict', retryable: false }]);
    expect(await agent('defined')).toMatchObject({ prompt: 'You fix builds.' });
    const stranger = await insertUser(server.dataSource, {
      teams: [await insertTeam(server.dataSource)],
      role: 'admin',
    });
    expect((await edit(stranger.headers)).status).toBe(404);
    await server.call('PUT', `/v1/factories/${factory}`, { mode: 'managed' });
    expect((await edit()).status).toBe(200);
  });

  it('at the same time, from two sides, ends as one of the two', async () => {
    const sides = ['a', 'b'].map((side) => ({
      [`webhooks/${side}.yaml`]: TOKEN_WEBHOOK,
      [`automations/${side}/automation.md`]: 'Go.',
      [`agents/${side}/agent.md`]: 'Work.',
    }));
    const answers = await Promise.all([...sides, ...sides].map((files) => apply(files)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const names = [...(await webhooks()), ...(await automations())].map(({ name }) => name);
    expect([
      ['a', 'a'],
      ['b', 'b'],
    ]).toContainEqual(names);
  });

  it('is for those who may manage factories', async () => {
    const member = await insertUser(server.dataSource, { teams: [await firstTeam(server.dataSource)] });
    const path = `/v1/factories/${factory}/definition`;
    expect((await server.call('GET', path, undefined, member.headers)).status).toBe(200);
    expect((await server.call('POST', path, { files: {} }, member.headers)).status).toBe(403);
  });
});

describe('the scorers of a definition', () => {
  const scorer = (change = ''): string =>
    `---\nagents: [fixer]\nlabels:\n  - { value: good, score: 1 }\n  - { value: bad, score: 0 }\npassing_score: 0.5\n${change}---\n\nDid it find the cause?\n`;
  const files = (text: string): Files => ({
    'agents/fixer/agent.md': 'You fix builds.',
    'scorers/cause/scorer.md': text,
  });
  const scorers = async (): Promise<{ id: number; name: string; sampling_rate: number }[]> => {
    const { body } = await server.call('GET', '/v1/scorers');
    return (
      body as { scorers: { id: number; name: string; sampling_rate: number; factory_uid?: string }[] }
    ).scorers.filter(({ factory_uid: uid }) => uid === factory);
  };

  it('are made, changed under their ids, left alone and deleted', async () => {
    expect(planOf(await apply(files(scorer())))).toEqual(['create agent fixer', 'create scorer cause']);
    const [before] = await scorers();
    expect(before).toMatchObject({ name: 'cause', sampling_rate: 0.25 });
    expect(planOf(await apply(files(scorer())))).toEqual([]);
    expect(planOf(await apply(files(scorer('sampling_rate: 1\n'))))).toEqual(['update scorer cause']);
    expect(await scorers()).toMatchObject([{ id: before!.id, sampling_rate: 1 }]);
    expect(planOf(await apply({ 'agents/fixer/agent.md': 'You fix builds.' }))).toEqual([
      'delete scorer cause',
    ]);
    expect(await scorers()).toEqual([]);
  });

  it('come back as they were written', async () => {
    await apply(files(scorer()));
    const { body } = await server.call('GET', `/v1/factories/${factory}/definition`);
    const exported = (body as { files: Files }).files;
    expect(exported['scorers/cause/scorer.md']).toContain('Did it find the cause?');
    expect(planOf(await apply(exported))).toEqual([]);
  });

  it('make room for each other where the team has as many as it may have', async () => {
    await apply(files(scorer()));
    await server.dataSource.query(
      `INSERT INTO scorers (team_uid, name, rubric, agent_uids, labels, passing_score, sampling_rate)
       SELECT $1, 'Filler ' || n, 'x', '{}', '[]', 0.5, 0
         FROM generate_series(1, 1000 - (SELECT count(*) FROM scorers WHERE team_uid = $1)) AS n`,
      [await firstTeam(server.dataSource)],
    );
    const { 'agents/fixer/agent.md': fixer = '' } = files('');
    const renamed = { 'agents/fixer/agent.md': fixer, 'scorers/reason/scorer.md': scorer() };
    expect(planOf(await apply(renamed))).toEqual(['delete scorer cause', 'create scorer reason']);
    expect(errorsOf(await apply({ ...renamed, 'scorers/cause/scorer.md': scorer() }))).toEqual([
      'scorers/cause/scorer.md:2: : is one too many: the team has as many scorers as it may have',
    ]);
    await server.dataSource.query(`DELETE FROM scorers WHERE name LIKE 'Filler %'`);
  });

  it('are refused with the line of what is wrong', async () => {
    expect(errorsOf(await apply(files(scorer().replace('score: 0 }', 'score: 1 }'))))).toEqual([
      'scorers/cause/scorer.md:3: labels: must have one whose score reaches passing_score, and one whose score does not',
    ]);
    expect(errorsOf(await apply({ 'scorers/cause/scorer.md': scorer() }))).toEqual([
      'scorers/cause/scorer.md:2: agents.0: must be the name of an agent below agents/, or the uid of an agent of the team',
    ]);
    for (const value of ['" "', '"good\\nbad"']) {
      expect(errorsOf(await apply(files(scorer().replace('value: good', `value: ${value}`))))).toEqual([
        'scorers/cause/scorer.md:4: labels.0.value: must be one line that is not blank, without control characters',
      ]);
    }
    expect(errorsOf(await apply(files(scorer().replace('[fixer]', '[fixer, fixer]'))))).toEqual([
      'scorers/cause/scorer.md:2: agents: must name each agent once',
    ]);
    expect(errorsOf(await apply(files(scorer('model_id: no-such-model\n'))))).toEqual([
      expect.stringMatching(/^scorers\/cause\/scorer\.md:7: model_id: must be one of the models/),
    ]);
    expect(await scorers()).toEqual([]);
  });
});

describe('the files of a factory', () => {
  it('change nothing when they are applied as they are', async () => {
    await apply({
      'webhooks/github.yaml': GITHUB_WEBHOOK,
      'agents/fixer/agent.md': '---\nsecrets: [TOKEN]\n---\nFix.',
    });
    const [github] = await webhooks();
    await server.call('POST', `/v1/factories/${factory}/automations`, {
      name: 'Made by the API',
      enabled: false,
      agent_uid: (await agent('fixer'))?.uid,
      prompt: 'Go.\r\n\r\n---\r\n\nOn.\r\n',
      config: { idle_timeout_minutes: 5, mcp_servers: { a: { command: 'npx' } } },
      triggers: [
        {
          provider: 'webhook',
          event: 'received',
          filter: { webhook_ids: [github!.uid], payload: { 'a.b': { c: { exists: true } } } },
        },
        { provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 7 * * 1-5', name: 'Mornings' } },
      ],
    });
    await server.call('PUT', `/v1/agent/identities/${(await agent('fixer'))!.uid}`, {
      prompt: 'Fix\r\nit.\r',
    });
    const { body } = await server.call('GET', `/v1/factories/${factory}/definition`);
    const { files } = body as { files: Files };
    expect(Object.keys(files)).toEqual([
      'factory.yaml',
      'webhooks/github.yaml',
      'automations/Made by the API/automation.md',
      'agents/fixer/agent.md',
    ]);
    expect(planOf(await apply(files))).toEqual([]);
    expect(planOf(await apply({}))).toHaveLength(3);
    // The webhook is another one now, and its uid stands in the automation.
    expect(errorsOf(await apply({ ...files, 'webhooks/github.yaml': 'secretName: NONE\n' }))).toHaveLength(1);
    expect(planOf(await apply(files))).toHaveLength(3);
  });
});

describe('the JSON Schemas', () => {
  it.each(['factory', 'webhook', 'automation', 'agent'])('of %s are served to everybody', async (kind) => {
    const { status, body } = await server.call('GET', `/v1/schemas/${kind}`, undefined, {
      Authorization: '',
    });
    expect([status, body]).toMatchObject([
      200,
      { $schema: expect.stringContaining('2020-12'), type: 'object' },
    ]);
  });

  it('are of those kinds alone', async () => {
    expect((await server.call('GET', '/v1/schemas/toString')).status).toBe(404);
  });
});

async function nameOfFactory(): Promise<string> {
  return ((await server.call('GET', `/v1/factories/${factory}`)).body as { name: string }).name;
}
