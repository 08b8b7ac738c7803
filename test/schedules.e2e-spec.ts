import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { CronTriggers, FireTriggers, type TriggerKind } from '../src/schedules/index.js';
import { firstTeam, insertTeam, insertUser, type TestUser } from './support/identities.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';
import { TurnedClock } from './support/turned-clock.js';

/** Two replicas on one database and one clock, which fire when they are told to. */
const clock = new TurnedClock('2027-05-04T08:00:00Z');
let one: TestApp;
let two: TestApp;
let colleague: TestUser;
let stranger: TestUser;

interface Schedule {
  id: string;
  name: string;
  enabled: boolean;
  prompt: string;
  timezone: string;
  mode: string;
  updated_at: string;
  last_spawn_error: string | null;
  agent_config?: Record<string, unknown>;
  agent_uid?: string;
  metadata: Record<string, string>;
  environment?: { name?: string };
  created_by: { uid: string };
  updated_by: { uid: string };
  history: { last_ran: string | null; next_run: string | null };
  scope: { type: string; uid: string };
}
interface Fires {
  fires: { scheduled_at: string; outcome: string; run_id?: string; reason?: string }[];
  upcoming: string[];
}

const NIGHTLY = { name: 'Nightly review', cron_schedule: '0 9 * * *', prompt: 'Review' };

const call = (method: string, path = '', body?: object, as?: TestUser): Promise<Answer> =>
  one.call(method, `/v1/agent/schedules${path}`, body, as?.headers);

async function create(request: object = {}, as?: TestUser): Promise<Schedule> {
  const { status, body } = await call('POST', '', { ...NIGHTLY, ...request }, as);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as Schedule;
}
const read = async (id: string): Promise<Schedule> => (await call('GET', `/${id}`)).body as Schedule;
const fires = async (id: string): Promise<Fires> => (await call('GET', `/${id}/fires`)).body as Fires;

/** What the service does each second, at the time. @returns how many triggers it has dealt with */
const fireAt = (time: string, server = one): Promise<number> => {
  clock.set(time);
  return server.app.get(FireTriggers).fireDue();
};

/** The outcomes by time of day, the earliest first. */
const history = async (id: string): Promise<string[]> =>
  (await fires(id)).fires
    .map(({ scheduled_at, outcome }) => `${scheduled_at.slice(11, 16)} ${outcome}`)
    .reverse();

const runsOf = async (id: string): Promise<Record<string, unknown>[]> =>
  ((await one.call('GET', `/v1/agent/runs?schedule_id=${id}`)).body as { runs: Record<string, unknown>[] })
    .runs;

const query = <Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
  one.dataSource.query<Row[]>(sql, parameters);

beforeAll(async () => {
  one = await startTestApp({ ROLES: 'api' }, undefined, clock);
  two = await startTestApp({ ROLES: 'api' }, one, clock);
  const team = await firstTeam(one.dataSource);
  colleague = await insertUser(one.dataSource, { teams: [team] });
  stranger = await insertUser(one.dataSource, { teams: [await insertTeam(one.dataSource)] });
});
afterEach(async () => {
  await query('DELETE FROM schedules');
  await query('DELETE FROM cron_triggers');
  clock.set('2027-05-04T08:00:00Z');
});
afterAll(async () => {
  await two.close();
  await one.close();
});

describe('a schedule', () => {
  it('is made, with its defaults, and read', async () => {
    const schedule = await create();
    expect(schedule).toEqual({
      id: expect.any(String),
      ...NIGHTLY,
      timezone: 'UTC',
      catch_up_window_minutes: 60,
      enabled: true,
      mode: 'normal',
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_spawn_error: null,
      metadata: {},
      created_by: expect.objectContaining({ type: 'user' }),
      updated_by: expect.objectContaining({ type: 'user' }),
      history: { last_ran: null, next_run: '2027-05-04T09:00:00.000Z' },
      scope: { type: 'Team', uid: await firstTeam(one.dataSource) },
    });
    expect(await read(schedule.id)).toEqual(schedule);
  });

  it.each<[string, object]>([
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(257) }],
    ['cron_schedule', { cron_schedule: '61 * * * *' }],
    ['cron_schedule', { cron_schedule: '* * * * * *' }],
    ['cron_schedule', { cron_schedule: '0 0 31 2 *' }],
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['catch_up_window_minutes', { catch_up_window_minutes: -1 }],
    ['prompt', { prompt: '' }],
    ['prompt', { prompt: undefined }],
    ['mode', { mode: 'fast' }],
    ['agent_uid', { agent_uid: 'nobody' }],
    ['agent_uid', { agent_uid: '019c3f0e-0000-7000-8000-000000000003' }],
    ['agent_config.model_id', { agent_config: { model_id: 'no-such-model' } }],
    ['agent_config.environment_id', { agent_config: { environment_id: 'A'.repeat(22) } }],
    ['agent_config.skill_spec', { agent_config: { skill_spec: 'no-such-skill' } }],
    ['metadata', { metadata: { 'a key': 'x' } }],
    ['agent_uid', { team: false, agent_uid: '019c3f0e-0000-7000-8000-000000000003' }],
    ['seconds', { seconds: 5 }],
  ])('is refused for its %s', async (field, wrong) => {
    const answer = await call('POST', '', { ...NIGHTLY, ...wrong });
    expect(answer).toMatchObject({
      status: 400,
      body: { error_code: 'invalid_request', errors: [{ field }] },
    });
    expect((await call('GET')).body).toEqual({ schedules: [] });
  });

  it('names the part of the expression that is wrong', async () => {
    const { body } = await call('POST', '', { ...NIGHTLY, cron_schedule: '0 9 * 13 *' });
    expect((body as { detail: string }).detail).toMatch(/^cron_schedule: has a month that is not valid, 13/);
  });

  it('is listed by name, whatever its case, and by age where names are the same', async () => {
    const first = await create({ name: 'beta' });
    const second = await create({ name: 'Beta' });
    await create({ name: 'Alpha' });
    await create({ name: 'alpine', team: false });
    await create({ name: 'another', team: false }, colleague);
    const { body } = await call('GET');
    const { schedules } = body as { schedules: Schedule[] };
    expect(schedules.map(({ name }) => name)).toEqual(['Alpha', 'alpine', 'beta', 'Beta']);
    expect(schedules.slice(2).map(({ id }) => id)).toEqual([first.id, second.id]);
    expect(schedules[1]?.scope).toEqual({ type: 'User', uid: schedules[1]?.created_by.uid });
  });

  it('is known to those who own it alone', async () => {
    const ofTeam = await create();
    const personal = await create({ team: false });
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PUT', '', { ...NIGHTLY, enabled: true }],
      ['POST', '/pause', undefined],
      ['POST', '/resume', undefined],
      ['GET', '/fires', undefined],
      ['DELETE', '', undefined],
    ] as const) {
      expect((await call(method, `/${ofTeam.id}${path}`, body, stranger)).status).toBe(404);
      expect((await call(method, `/${personal.id}${path}`, body, colleague)).status).toBe(404);
      expect((await call(method, `/nonsense${path}`, body)).status).toBe(404);
    }
    expect((await call('GET', `/${ofTeam.id}`, undefined, colleague)).status).toBe(200);
  });

  it('is replaced: what is left out becomes its default, agent_config alone stays', async () => {
    const { id } = await create({
      agent_config: { name: 'nightly', model_id: 'script' },
      metadata: { ticket: 'A-1' },
      mode: 'plan',
      timezone: 'Europe/Berlin',
    });
    const answer = await call(
      'PUT',
      `/${id}`,
      { name: 'Renamed', cron_schedule: '30 9 * * *', prompt: 'Other', enabled: true },
      colleague,
    );
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      name: 'Renamed',
      prompt: 'Other',
      agent_config: { name: 'nightly', model_id: 'script' },
      metadata: {},
      mode: 'normal',
      timezone: 'UTC',
      history: { next_run: '2027-05-04T09:30:00.000Z' },
      updated_by: { uid: colleague.uid },
    });
    const cleared = await call('PUT', `/${id}`, { ...NIGHTLY, enabled: true, agent_config: {} });
    expect((cleared.body as Schedule).agent_config).toEqual({});
  });

  it.each(['name', 'cron_schedule', 'enabled', 'prompt'])('is not replaced without its %s', async (field) => {
    const { id } = await create();
    const answer = await call('PUT', `/${id}`, { ...NIGHTLY, enabled: true, [field]: undefined });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  });

  it('is not replaced by what its creator has no right to', async () => {
    const { id } = await create();
    const environment = await one.call(
      'POST',
      '/v1/agent/environments',
      { name: 'Mine', team: false },
      colleague.headers,
    );
    const answer = await call(
      'PUT',
      `/${id}`,
      {
        ...NIGHTLY,
        enabled: true,
        agent_config: { environment_id: (environment.body as { uid: string }).uid },
      },
      colleague,
    );
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'agent_config.environment_id' }] },
    });
  });

  it('keeps the tick that it waits for through a replacement with the same expression', async () => {
    const { id } = await create();
    const interval = await create({ cron_schedule: '@every 90m' });
    clock.set('2027-05-04T08:59:59.500Z');
    for (const [each, cron_schedule] of [
      [id, ' 0  9 * * * '],
      [interval.id, '@every 90m'],
    ]) {
      await call('PUT', `/${each ?? ''}`, { ...NIGHTLY, cron_schedule, name: 'Renamed', enabled: true });
    }
    expect((await read(id)).history.next_run).toBe('2027-05-04T09:00:00.000Z');
    expect((await read(interval.id)).history.next_run).toBe('2027-05-04T09:30:00.000Z');
    await fireAt('2027-05-04T09:00:01Z');
    expect(await history(id)).toEqual(['09:00 fired']);
  });

  it('is deleted for good; its runs stay and name it', async () => {
    const { id } = await create();
    await fireAt('2027-05-04T09:00:00Z');
    expect(await call('DELETE', `/${id}`)).toMatchObject({ status: 200, body: { success: true } });
    expect((await call('GET', `/${id}`)).status).toBe(404);
    expect((await call('DELETE', `/${id}`)).status).toBe(404);
    expect(await fireAt('2027-05-05T09:00:00Z')).toBe(0);
    expect(await runsOf(id)).toMatchObject([
      { schedule: { schedule_id: id, schedule_name: 'Nightly review' } },
    ]);
    expect(await query('SELECT trigger_id FROM cron_ticks')).toEqual([]);
  });

  it('is one of at most 1,000 of a team', async () => {
    const team = await firstTeam(one.dataSource);
    await query(
      `INSERT INTO schedules (id, team_uid, name, prompt, created_by, updated_by)
       SELECT gen_random_uuid(), $1, 'One of many', 'Go', gen_random_uuid(), gen_random_uuid() FROM generate_series(1, 999)`,
      [team],
    );
    const answers = await Promise.all([1, 2, 3].map(() => call('POST', '', NIGHTLY)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403]);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      error_code: 'budget_exceeded',
    });
  });
});

describe('pause and resume', () => {
  it('do what they say, and nothing the second time', async () => {
    const { id } = await create();
    const paused = await call('POST', `/${id}/pause`, undefined, colleague);
    expect(paused).toMatchObject({
      status: 200,
      body: { enabled: false, history: { next_run: null }, updated_by: { uid: colleague.uid } },
    });
    expect((await call('POST', `/${id}/pause`)).body).toEqual(paused.body);
    expect((await fires(id)).upcoming).toEqual([]);
    expect(await fireAt('2027-05-04T09:00:00Z')).toBe(0);

    clock.set('2027-05-06T08:59:00Z');
    const resumed = await call('POST', `/${id}/resume`);
    expect(resumed).toMatchObject({
      status: 200,
      body: { enabled: true, history: { next_run: '2027-05-06T09:00:00.000Z' } },
    });
    expect((await call('POST', `/${id}/resume`)).body).toEqual(resumed.body);
    await fireAt('2027-05-06T09:00:00Z');
    // The ticks of the pause were neither missed nor made up for.
    expect(await history(id)).toEqual(['09:00 fired']);
  });

  const replace = (id: string, changes: object) =>
    call('PUT', `/${id}`, { ...NIGHTLY, enabled: true, ...changes });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ['a resumption', (id) => call('POST', `/${id}/resume`)],
    ['a pause', (id) => call('POST', `/${id}/pause`)],
    [
      'a pause and a resumption',
      async (id) => {
        await call('POST', `/${id}/pause`);
        await call('POST', `/${id}/resume`);
      },
    ],
    ['a replacement by the same', (id) => replace(id, {})],
    ['another expression', (id) => replace(id, { cron_schedule: '0 11 * * *' })],
    ['another time zone', (id) => replace(id, { timezone: 'Asia/Tokyo' })],
    ['a replacement that pauses', (id) => replace(id, { enabled: false })],
  ])('do not lose a tick that has come before %s', async (_, change) => {
    const { id } = await create();
    clock.set('2027-05-04T09:00:00.300Z');
    await change(id);
    await fireAt('2027-05-04T09:00:00.500Z');
    expect(await history(id)).toEqual(['09:00 fired']);
    expect(await runsOf(id)).toHaveLength(1);
  });

  it('puts a rule right that has become invalid', async () => {
    const { id } = await create();
    await query(`UPDATE cron_triggers SET timezone = 'Atlantis/Poseidonis' WHERE id = $1`, [id]);
    expect((await replace(id, { cron_schedule: '0 10 * * *' })).status).toBe(200);
    expect((await read(id)).history.next_run).toBe('2027-05-04T10:00:00.000Z');
  });

  it('decide what has come while no scheduler was there', async () => {
    const { id } = await create({ cron_schedule: '0 * * * *' });
    clock.set('2027-05-04T11:30:00Z');
    await call('POST', `/${id}/pause`);
    await call('POST', `/${id}/resume`);
    expect(await history(id)).toEqual(['09:00 missed', '10:00 missed', '11:00 fired']);
  });

  it('make it paused from the start', async () => {
    const {
      id,
      history: { next_run },
    } = await create({ enabled: false });
    expect(next_run).toBeNull();
    expect((await call('POST', `/${id}/resume`)).body).toMatchObject({
      history: { next_run: '2027-05-04T09:00:00.000Z' },
    });
  });
});

describe('a run of a schedule', () => {
  it('is made of it as it is at that moment', async () => {
    const environment = await one.call('POST', '/v1/agent/environments', { name: 'Shop' });
    const environment_id = (environment.body as { uid: string }).uid;
    const schedule = await create({
      agent_config: { name: 'nightly', environment_id },
      metadata: { ticket: 'A-1' },
      mode: 'plan',
    });
    expect(schedule.environment).toMatchObject({ name: 'Shop' });
    await fireAt('2027-05-04T09:00:00.200Z');
    await call('PUT', `/${schedule.id}`, {
      ...NIGHTLY,
      name: 'Renamed',
      cron_schedule: '@daily',
      enabled: true,
    });

    const [run, ...others] = await runsOf(schedule.id);
    expect(others).toEqual([]);
    const [agent] = await query<{ uid: string }>(
      'SELECT uid FROM agents WHERE is_default AND team_uid = $1',
      [await firstTeam(one.dataSource)],
    );
    expect(run).toMatchObject({
      state: 'QUEUED',
      source: 'SCHEDULED_AGENT',
      prompt: 'Review',
      mode: 'plan',
      schedule: { schedule_id: schedule.id, schedule_name: 'Nightly review', cron_schedule: '0 9 * * *' },
      metadata: { ticket: 'A-1' },
      agent_config: {
        name: 'nightly',
        environment_id,
        model_id: expect.any(String),
        harness: { type: 'oz' },
      },
      creator: { uid: schedule.created_by.uid },
      executor: { uid: agent!.uid, type: 'service_account' },
      scope: schedule.scope,
    });
    expect(await fires(schedule.id)).toMatchObject({
      fires: [{ scheduled_at: '2027-05-04T09:00:00.000Z', outcome: 'fired', run_id: run!.run_id }],
    });
    expect((await read(schedule.id)).history.last_ran).toBe('2027-05-04T09:00:00.200Z');
  });

  it('is configured by the agent that it names, and executed by that one', async () => {
    const agent = await one.call('POST', '/v1/agent/identities', { name: 'Reviewer', prompt: 'You review.' });
    const { uid } = agent.body as { uid: string };
    const schedule = await create({ agent_uid: uid, agent_config: { model_id: 'script' } });
    expect(schedule.agent_uid).toBe(uid);
    await fireAt('2027-05-04T09:00:00Z');
    expect(await runsOf(schedule.id)).toMatchObject([
      { executor: { uid }, agent_config: { base_prompt: 'You review.', model_id: 'script' } },
    ]);
  });

  it('of a person is executed by that person', async () => {
    const schedule = await create({ team: false });
    await fireAt('2027-05-04T09:00:00Z');
    const uid = schedule.created_by.uid;
    expect(await runsOf(schedule.id)).toMatchObject([
      { executor: { uid }, creator: { uid }, scope: { type: 'User', uid } },
    ]);
  });
});

describe('firing', () => {
  const tally = async (): Promise<unknown> =>
    query(
      `SELECT count(*)::int AS ticks, count(DISTINCT run_id)::int AS runs, (SELECT count(*)::int FROM runs WHERE schedule_id IN
              (SELECT trigger_id FROM cron_ticks)) AS created FROM cron_ticks WHERE outcome = 'fired'`,
    );

  it('makes one run a tick, over two replicas at once', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => create({ name: `Schedule ${String(index)}` })),
    );
    clock.set('2027-05-04T09:00:00Z');
    const dealtWith = await Promise.all(
      [one, two, one, two].map(({ app }) => app.get(FireTriggers).fireDue()),
    );
    expect(dealtWith.reduce((sum, count) => sum + count)).toBe(40);
    expect(await tally()).toEqual([{ ticks: 40, runs: 40, created: 40 }]);
    expect(await fireAt('2027-05-04T09:00:01Z', two)).toBe(0);
  });

  it('waits for one who deletes, and one who fires is waited for', async () => {
    const { id } = await create();
    clock.set('2027-05-04T09:00:00Z');
    const [fired, deleted] = await Promise.all([
      two.app.get(FireTriggers).fireDue(),
      call('DELETE', `/${id}`),
    ]);
    expect(deleted.status).toBe(200);
    expect(await runsOf(id)).toHaveLength(fired);
  });

  it('goes on after a downtime with the latest tick, and records the others as missed', async () => {
    const { id } = await create({ cron_schedule: '0 * * * *' });
    const strict = await create({ cron_schedule: '0 * * * *', catch_up_window_minutes: 0 });
    await fireAt('2027-05-04T12:30:00Z');
    expect(await history(id)).toEqual(['09:00 missed', '10:00 missed', '11:00 missed', '12:00 fired']);
    expect(await history(strict.id)).toEqual([
      '09:00 missed',
      '10:00 missed',
      '11:00 missed',
      '12:00 missed',
    ]);
    expect(await runsOf(id)).toHaveLength(1);
    expect(await runsOf(strict.id)).toEqual([]);
    expect((await read(strict.id)).history).toEqual({ last_ran: null, next_run: '2027-05-04T13:00:00.000Z' });
    expect((await fires(strict.id)).fires[0]?.reason).toBe('The scheduler did not run at that time');
  });

  it('fires nothing twice and loses nothing when the clock is put back', async () => {
    const { id } = await create({ cron_schedule: '*/30 * * * *' });
    await fireAt('2027-05-04T08:30:00Z');
    await fireAt('2027-05-04T09:00:00Z');
    // Back by three quarters of an hour, while it waits for 09:30.
    expect(await fireAt('2027-05-04T08:16:00Z')).toBe(0);
    expect((await read(id)).history.next_run).toBe('2027-05-04T08:30:00.000Z');
    for (const time of ['08:30', '09:00', '09:30']) await fireAt(`2027-05-04T${time}:00Z`);
    expect(await history(id)).toEqual(['08:30 fired', '09:00 fired', '09:30 fired']);
    expect(await runsOf(id)).toHaveLength(3);
    expect((await read(id)).history.last_ran).toBe('2027-05-04T09:30:00.000Z');
  });

  it('is right again after the clock was ahead by a year', async () => {
    const { id } = await create({ cron_schedule: '0 * * * *' });
    await fireAt('2028-05-04T09:30:00Z');
    expect(await runsOf(id)).toHaveLength(1);
    await fireAt('2027-05-04T08:30:00Z');
    expect((await read(id)).history.next_run).toBe('2027-05-04T09:00:00.000Z');
    await fireAt('2027-05-04T09:00:00Z');
    expect(await runsOf(id)).toHaveLength(2);
  });

  it('tells nothing of the time that a clock was ahead of, once it is put back', async () => {
    const { id } = await create({ cron_schedule: '* * * * *' });
    await fireAt('2027-05-04T08:01:00Z');
    await fireAt('2027-05-05T08:01:30Z');
    for (const minute of ['02', '03', '04']) await fireAt(`2027-05-04T08:${minute}:10Z`);
    // What was fired there has its run.
    expect((await fires(id)).fires.map(({ scheduled_at }) => scheduled_at)).toEqual([
      '2027-05-05T08:01:00.000Z',
      '2027-05-04T08:04:00.000Z',
      '2027-05-04T08:03:00.000Z',
    ]);
  });

  it('counts an interval that was set with the clock ahead from when it is put back', async () => {
    clock.set('2028-05-04T08:00:00Z');
    const { id } = await create({ cron_schedule: '@every 90m' });
    await fireAt('2027-05-04T08:00:00Z');
    expect((await read(id)).history.next_run).toBe('2027-05-04T09:30:00.000Z');
    await fireAt('2027-05-04T09:30:00Z');
    expect((await read(id)).history.next_run).toBe('2027-05-04T11:00:00.000Z');
  });

  it('fires after all what it had recorded as missed while the clock was ahead', async () => {
    const { id } = await create({ cron_schedule: '0 * * * *' });
    await fireAt('2027-05-04T11:00:00Z');
    expect(await history(id)).toEqual(['09:00 missed', '10:00 missed', '11:00 fired']);
    await fireAt('2027-05-04T08:59:00Z');
    for (const time of ['09', '10', '11', '12']) await fireAt(`2027-05-04T${time}:00:00Z`);
    expect(await history(id)).toEqual(['09:00 fired', '10:00 fired', '11:00 fired', '12:00 fired']);
    expect(await runsOf(id)).toHaveLength(4);
  });

  it('makes no second run even for a tick that is no longer kept', async () => {
    const { id } = await create();
    await fireAt('2027-05-04T09:00:00Z');
    await query('DELETE FROM cron_ticks');
    await fireAt('2027-05-04T08:00:00Z');
    await fireAt('2027-05-04T09:00:00Z');
    const [run, ...others] = await runsOf(id);
    expect(others).toEqual([]);
    expect((await fires(id)).fires).toMatchObject([{ outcome: 'fired', run_id: run!.run_id }]);
  });

  it('keeps the last 100 ticks, and tells the next ten', async () => {
    const { id } = await create({ cron_schedule: '* * * * *', catch_up_window_minutes: 0 });
    await fireAt('2027-05-04T11:00:00Z');
    await fireAt('2027-05-04T11:01:00Z');
    const { fires: ticks, upcoming } = await fires(id);
    expect(ticks).toHaveLength(100);
    expect(
      ticks.slice(0, 3).map(({ scheduled_at, outcome }) => [scheduled_at.slice(11, 16), outcome]),
    ).toEqual([
      ['11:01', 'fired'],
      ['11:00', 'fired'],
      ['10:59', 'fired'],
    ]);
    expect(upcoming.map((tick) => tick.slice(11, 16))).toEqual(
      Array.from({ length: 10 }, (_, index) => `11:${String(index + 2).padStart(2, '0')}`),
    );
    expect(await query('SELECT count(*)::int AS count FROM cron_ticks')).toEqual([{ count: 100 }]);
  });
});

describe('the metrics', () => {
  const lag = async (): Promise<string | undefined> =>
    /^millwright_schedule_lag_seconds (\S+)$/m.exec((await one.call('GET', '/metrics')).body as string)?.[1];

  it('tell how long the longest due schedule waits', async () => {
    await create();
    expect(await lag()).toBe('0');
    clock.set('2027-05-04T09:00:07Z');
    expect(await lag()).toBe('7');
  });
});

describe('a run that cannot be created', () => {
  it('leaves its reason, and the schedule and all others go on', async () => {
    const agent = await one.call('POST', '/v1/agent/identities', { name: 'Short-lived' });
    const environment = await one.call('POST', '/v1/agent/environments', { name: 'Short-lived' });
    const agentUid = (agent.body as { uid: string }).uid;
    const environmentUid = (environment.body as { uid: string }).uid;
    const nobody = await insertUser(one.dataSource, { teams: [] });
    const good = await create();
    const withoutAgent = await create({ agent_uid: agentUid });
    const withoutEnvironment = await create({ agent_config: { environment_id: environmentUid } });
    const withoutOwner = await create({ team: false }, nobody);
    await one.call('DELETE', `/v1/agent/identities/${agentUid}`);
    await one.call('DELETE', `/v1/agent/environments/${environmentUid}`);
    await query('DELETE FROM users WHERE uid = $1', [nobody.uid]);
    await fireAt('2027-05-04T09:00:00Z');

    expect(await runsOf(good.id)).toHaveLength(1);
    expect((await read(good.id)).last_spawn_error).toBeNull();
    for (const [{ id }, reason] of [
      [withoutAgent, 'agent_uid: must be an agent identity of the team'],
      [withoutEnvironment, 'agent_config.environment_id: must be an environment that you can use'],
    ] as const) {
      expect(await read(id)).toMatchObject({
        last_spawn_error: reason,
        history: { last_ran: null, next_run: '2027-05-05T09:00:00.000Z' },
      });
      expect((await fires(id)).fires).toMatchObject([{ outcome: 'failed', reason }]);
    }
    expect(await query('SELECT last_error FROM cron_triggers WHERE id = $1', [withoutOwner.id])).toEqual([
      { last_error: 'The person who owns the schedule is no longer there' },
    ]);

    await call('PUT', `/${withoutAgent.id}`, { ...NIGHTLY, enabled: true });
    await fireAt('2027-05-05T09:00:00Z');
    expect(await read(withoutAgent.id)).toMatchObject({ last_spawn_error: null });
    expect(await history(withoutAgent.id)).toEqual(['09:00 failed', '09:00 fired']);
  });
});

describe('triggers of another context', () => {
  const ids = Array.from({ length: 5 }, () => randomUUID());
  let team: string;
  /** Fails in a way that nobody thought of, for one of its triggers. */
  const kind: TriggerKind = {
    name: 'test',
    prepare: () =>
      Promise.resolve((_tx, due) => {
        if (due.some(({ triggerId }) => triggerId === ids[2])) throw new Error('a bug');
        const run = {
          prompt: 'Go',
          owner: { teamUid: team, ownerUid: null },
          creatorUid: team,
          executorUid: team,
          source: 'SCHEDULED_AGENT' as const,
          config: {},
        };
        // One of them is not ready yet.
        const ready = due.filter(({ triggerId }) => triggerId !== ids[4]);
        return Promise.resolve(new Map(ready.map(({ triggerId }) => [triggerId, { outcome: 'run', run }])));
      }),
  };

  it('are kept with what they belong to, fired once, and do not keep each other waiting', async () => {
    team = await firstTeam(one.dataSource);
    const triggers = one.app.get(CronTriggers);
    triggers.register(kind);
    const put = (id: string) =>
      one.app.get(Transactor).run((tx) =>
        triggers.put(tx, {
          id,
          kind: 'test',
          cron: '0 9 * * *',
          timezone: 'UTC',
          catchUpMinutes: 60,
          enabled: true,
        }),
      );
    for (const id of ids) await put(id);
    await one.app.get(Transactor).run((tx) => triggers.remove(tx, ids[3]!));
    await fireAt('2027-05-04T09:00:00Z');
    const ticks = await query(
      `SELECT t.trigger_id AS id, t.outcome, t.reason, r.origin_key FROM cron_ticks t LEFT JOIN runs r ON r.id = t.run_id`,
    );
    const fired = (id: string) => ({
      id,
      outcome: 'fired',
      reason: null,
      origin_key: `test:${id}:2027-05-04T09:00:00.000Z`,
    });
    expect(new Set(ticks)).toEqual(
      new Set([
        fired(ids[0]!),
        fired(ids[1]!),
        { id: ids[2], outcome: 'failed', reason: 'The service failed; its log says why', origin_key: null },
      ]),
    );
    expect(await query('SELECT next_tick_at FROM cron_triggers WHERE id = $1', [ids[4]])).toEqual([
      { next_tick_at: new Date('2027-05-04T09:00:00Z') },
    ]);
  });

  it('is refused a rule that could never be fired', () => {
    const triggers = one.app.get(CronTriggers);
    expect(triggers.check({ cron: '0 0 31 2 *', timezone: 'UTC' })).toMatchObject({ field: 'cron' });
    expect(triggers.check({ cron: '@daily', timezone: 'Nowhere' })).toMatchObject({ field: 'timezone' });
    expect(triggers.check({ cron: '@daily', timezone: 'Europe/Berlin' })).toBeUndefined();
  });
});
