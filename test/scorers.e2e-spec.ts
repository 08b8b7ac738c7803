import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Database } from '../src/kernel/persistence/database.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { FactoryScorers, type ScorerSettings } from '../src/scores/index.js';
import { insertTeam, insertUser } from './support/identities.js';
import { type Scorer, ScoringTeam } from './support/scores.js';
import { type Answer, lockAwaited, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let team: ScoringTeam;
let teamUid: string;
let member: ScoringTeam;
let agent: string;

beforeAll(async () => {
  server = await startTestApp();
  teamUid = await insertTeam(server.dataSource);
  team = new ScoringTeam(
    server,
    (await insertUser(server.dataSource, { teams: [teamUid], role: 'admin' })).headers,
  );
  member = new ScoringTeam(server, (await insertUser(server.dataSource, { teams: [teamUid] })).headers);
  agent = await team.agent();
});
afterAll(async () => {
  await server.close();
});

const path = ({ id }: Scorer): string => `scorers/${String(id)}`;

describe('a scorer', () => {
  it('is made, read, changed and deleted', async () => {
    const harness = { type: 'claude', model_id: 'claude-sonnet-5-5' };
    const settings = team.settings(agent, { harness });
    delete settings.sampling_rate;
    const created = await team.call('POST', 'scorers', settings);
    expect(created).toMatchObject({
      status: 201,
      body: { ...settings, sampling_rate: 0.25, created_at: expect.any(String) },
    });
    const scorer = created.body as Scorer;
    expect(Number.isInteger(scorer.id)).toBe(true);
    expect(await member.call('GET', path(scorer))).toMatchObject({ status: 200, body: scorer });

    const changed = { ...team.settings(agent), sampling_rate: 0.5 };
    const replaced = await team.call('PUT', path(scorer), changed);
    expect(replaced).toMatchObject({ status: 200, body: { ...changed, id: scorer.id } });
    expect(replaced.body).not.toHaveProperty('harness');
    expect((await member.call('GET', path(scorer))).body).toEqual(replaced.body);

    expect((await team.call('DELETE', path(scorer))).status).toBe(204);
    expect((await team.call('GET', path(scorer))).status).toBe(404);
    expect((await team.call('DELETE', path(scorer))).status).toBe(404);
    expect((await team.call('PUT', path(scorer), changed)).status).toBe(404);
  });

  it('stands in the list by name', async () => {
    const [b, a] = [
      await team.scorer(agent, { name: 'List b' }),
      await team.scorer(agent, { name: 'List a' }),
    ];
    const { scorers } = (await member.call('GET', 'scorers')).body as { scorers: Scorer[] };
    const names = scorers.map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining([a.name, b.name]));
  });

  it.each<[string, object, string]>([
    ['no name', { name: '' }, 'name'],
    ['a blank name', { name: '  ' }, 'name'],
    ['a name of two lines', { name: 'a\nb' }, 'name'],
    ['no value of a label', { labels: [{ value: '', score: 0 }, ...labels(1)] }, 'labels.0.value'],
    ['a blank label', { labels: [{ value: '\u3000 ', score: 0 }, ...labels(1)] }, 'labels.0.value'],
    ['a label of two lines', { labels: [{ value: 'a\u2028b', score: 0 }, ...labels(1)] }, 'labels.0.value'],
    ['a label with an escape', { labels: [{ value: '\x1b[2J', score: 0 }, ...labels(1)] }, 'labels.0.value'],
    ['no rubric', { rubric: undefined }, 'rubric'],
    ['no agent', { agent_uids: [] }, 'agent_uids'],
    ['an agent that is not the team’s', { agent_uids: [randomUUID()] }, 'agent_uids'],
    ['an agent that is no id', { agent_uids: ['x'] }, 'agent_uids'],
    ['one label', { labels: [{ value: 'a', score: 1 }] }, 'labels'],
    ['no label that passes', { passing_score: 0.9, labels: labels(0.5, 0) }, 'labels'],
    ['no label that does not pass', { passing_score: 0.5, labels: labels(0.5, 1) }, 'labels'],
    ['two labels of one value', { labels: labels(0, 1).map((each) => ({ ...each, value: 'a' })) }, 'labels'],
    ['a score over 1', { labels: labels(0, 1.01) }, 'labels.1.score'],
    ['a passing score under 0', { passing_score: -0.1 }, 'passing_score'],
    ['a sampling rate over 1', { sampling_rate: 1.1 }, 'sampling_rate'],
    ['a model that is unknown', { model_id: 'nonsense' }, 'model_id'],
    ['a model of another harness', { model_id: 'script', harness: { type: 'claude' } }, 'model_id'],
    ['an unknown model of a harness', { harness: { type: 'claude', model_id: 'x' } }, 'harness.model_id'],
    ['an unknown harness', { harness: { type: 'x' } }, 'harness.type'],
    ['an unknown field', { colour: 'red' }, 'colour'],
    ['a name with NUL', { name: 'a\0b' }, 'name'],
  ])('with %s is a 400 that names the field', async (_, change, field) => {
    const answer = await team.call('POST', 'scorers', team.settings(agent, change));
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  });

  it('with an agent twice, in whatever case, is a 400 that names the field', async () => {
    const answer = await team.call(
      'POST',
      'scorers',
      team.settings(agent, { agent_uids: [agent, agent.toUpperCase()] }),
    );
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'agent_uids' }] } });
  });

  it.each(['0', '-1', '1.5', 'x', '2147483648', '99999999999999999999', '2147483647'])(
    'with the id %s is a 404',
    async (id) => {
      expect((await team.call('GET', `scorers/${id}`)).status).toBe(404);
      expect((await team.call('GET', `scorers/${id}/results`)).status).toBe(404);
    },
  );

  it('has a name of its own among those that the API has made', async () => {
    const [first, second] = [await team.scorer(agent), await team.scorer(agent)];
    expect(await team.call('POST', 'scorers', team.settings(agent, { name: first.name }))).toMatchObject({
      status: 409,
      body: { error_code: 'conflict', retryable: false },
    });
    expect((await team.call('PUT', path(second), team.settings(agent, { name: first.name }))).status).toBe(
      409,
    );
    const settings = team.settings(agent);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => team.call('POST', 'scorers', settings)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
  });

  it('is read by members, and changed by those who manage factories', async () => {
    const scorer = await team.scorer(agent);
    expect((await member.call('GET', path(scorer))).status).toBe(200);
    for (const [method, where] of [
      ['POST', 'scorers'],
      ['PUT', path(scorer)],
      ['DELETE', path(scorer)],
    ] as const) {
      expect((await member.call(method, where, member.settings(agent))).status).toBe(403);
    }
  });

  it('is one of 1,000 at most, however many are made at a time', async () => {
    const crowdedTeam = await insertTeam(server.dataSource);
    const { headers } = await insertUser(server.dataSource, { teams: [crowdedTeam], role: 'admin' });
    const crowded = new ScoringTeam(server, headers);
    const itsAgent = await crowded.agent();
    await server.dataSource.query(
      `INSERT INTO scorers (team_uid, name, rubric, agent_uids, labels, passing_score, sampling_rate)
       SELECT $1, 'Filler ' || n, 'x', '{}', '[]', 0.5, 0 FROM generate_series(1, 998) AS n`,
      [crowdedTeam],
    );
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => crowded.call('POST', 'scorers', crowded.settings(itsAgent))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403, 403, 403]);
    expect(answers.find(({ status }) => status === 403)).toMatchObject({
      body: { error_code: 'budget_exceeded' },
    });
  });
});

describe('the scorers of a definition', () => {
  let factory: string;
  beforeAll(async () => {
    const { body } = await team.call('POST', 'factories', { name: 'Scored' });
    factory = (body as { uid: string }).uid;
  });

  const settings = (name: string, change: Partial<ScorerSettings> = {}): ScorerSettings => ({
    name,
    rubric: 'A rubric',
    agentUids: [agent],
    labels: labels(0, 1),
    passingScore: 0.5,
    samplingRate: 0.25,
    ...change,
  });
  const apply = (...wanted: ScorerSettings[]): Promise<string[]> =>
    server.app.get(Transactor).run(async (tx) => {
      const port = server.app.get(FactoryScorers);
      const done: string[] = await port.deleteExcept(
        tx,
        factory,
        wanted.map(({ name }) => name),
      );
      for (const each of wanted) done.push(await port.save(tx, { uid: factory, teamUid }, each));
      return done;
    });
  const present = () => server.app.get(FactoryScorers).list(server.app.get(Database), factory);

  it('are made, changed under their ids, and deleted', async () => {
    expect(await apply(settings('one'), settings('two'))).toEqual(['created', 'created']);
    const before = await present();
    expect(await apply(settings('two', { rubric: 'Another' }), settings('three'))).toEqual([
      'one',
      'replaced',
      'created',
    ]);
    const after = await present();
    expect(after.map(({ name, rubric }) => [name, rubric])).toEqual([
      ['three', 'A rubric'],
      ['two', 'Another'],
    ]);
    expect(after[1]?.id).toBe(before[1]?.id);
  });

  it('are made once by two who apply at the same time', async () => {
    const outcomes = await Promise.all([apply(settings('twice')), apply(settings('twice'))]);
    expect(outcomes.map((done) => done.at(-1)).sort()).toEqual(['created', 'replaced']);
    expect(await present()).toMatchObject([{ name: 'twice' }]);
  });

  it('are refused by the rules of the API, and nothing is changed', async () => {
    await apply(settings('kept'));
    await expect(apply(settings('new'), settings('bad', { labels: labels(1, 1) }))).rejects.toMatchObject({
      errors: [{ field: 'labels' }],
    });
    expect(await present()).toMatchObject([{ name: 'kept' }]);
  });

  it('are read by the API and not changed by it', async () => {
    await apply(settings('fixed'));
    const [scorer] = await present();
    const where = `scorers/${String(scorer?.id)}`;
    expect((await team.call('GET', where)).body).toMatchObject({
      name: 'fixed',
      factory_uid: factory,
      sampling_rate: 0.25,
      passing_score: 0.5,
      labels: labels(0, 1),
    });
    for (const answer of [
      await team.call('PUT', where, team.settings(agent)),
      await team.call('DELETE', where),
    ]) {
      expect(answer).toMatchObject({ status: 409, body: { retryable: false } });
    }
    expect((await team.call('POST', 'scorers', team.settings(agent, { name: 'fixed' }))).status).toBe(201);
  });

  it('go with their factory, also those that are made while it is deleted', async () => {
    await apply(settings('old'));
    const { id: old } = (await present())[0]!;
    const transactor = server.app.get(Transactor);
    let deletion: Promise<Answer> | undefined;
    await transactor.run(async (tx) => {
      await server.app.get(FactoryScorers).save(tx, { uid: factory, teamUid }, settings('new'));
      deletion = team.call('DELETE', `factories/${factory}`);
      await lockAwaited(server);
    });
    expect((await deletion)?.status).toBe(204);
    expect(await present()).toEqual([]);
    expect((await team.call('GET', `scorers/${String(old)}`)).status).toBe(404);
  });
});

function labels(...scores: number[]): { value: string; score: number }[] {
  return scores.map((score, index) => ({ value: `label ${String(index)}`, score }));
}
