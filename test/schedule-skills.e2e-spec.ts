import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { FireTriggers } from '../src/schedules/index.js';
import { GitRepositories } from './support/git-repositories.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';
import { TurnedClock } from './support/turned-clock.js';

const START = '2027-05-04T08:00:00Z';
const SKILL = '.agents/skills/release/SKILL.md';
const skillFile = (body: string): string =>
  `---\nname: release\ndescription: Releases the shop\n---\n\n${body}\n`;

interface Schedule {
  id: string;
  last_spawn_error: string | null;
  history: { last_ran: string | null; next_run: string };
}

async function create(server: TestApp, request: object): Promise<Schedule> {
  const { status, body } = await server.call('POST', '/v1/agent/schedules', {
    name: 'Release',
    cron_schedule: '0 9 * * *',
    ...request,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as Schedule;
}
const read = async (server: TestApp, id: string): Promise<Schedule> =>
  (await server.call('GET', `/v1/agent/schedules/${id}`)).body as Schedule;
const runsOf = async (server: TestApp, id: string): Promise<Record<string, unknown>[]> =>
  ((await server.call('GET', `/v1/agent/runs?schedule_id=${id}`)).body as { runs: Record<string, unknown>[] })
    .runs;

describe('a schedule with a skill', () => {
  const clock = new TurnedClock(START);
  let git: GitRepositories;
  let server: TestApp;
  const fireAt = (time: string): Promise<number> => {
    clock.set(time);
    return server.app.get(FireTriggers).fireDue();
  };
  const refresh = () => server.call('GET', '/v1/agent?repo=acme/shop&refresh=true');

  beforeAll(async () => {
    git = await GitRepositories.create();
    await git.commit('acme/shop', { [SKILL]: skillFile('Tag it.') });
    server = await startTestApp({ ROLES: 'api', GIT_BASE_URL: git.baseUrl }, undefined, clock);
  });
  afterAll(async () => {
    await server.close();
    await git.remove();
  });

  it('may be that of an automation, of which any number come due at once', async () => {
    const { body } = await server.call('GET', '/v1/factories');
    const [factory] = (body as { factories: { uid: string }[] }).factories;
    const count = 230;
    for (let n = 0; n < count; n++) {
      const { status } = await server.call('POST', `/v1/factories/${factory?.uid ?? ''}/automations`, {
        name: `Release ${String(n)}`,
        prompt: 'Release',
        config: { skill_spec: 'acme/shop:release' },
        triggers: [{ provider: 'schedule', event: 'cron_fired', schedule: { cron: '30 8 4 5 *' } }],
      });
      expect(status).toBe(201);
    }
    let fired = 0;
    for (const second of ['00', '01', '02']) fired += await fireAt(`2027-05-04T08:30:${second}Z`);
    expect(fired).toBe(count);
    expect(
      await server.dataSource.query('SELECT outcome, count(*)::integer FROM cron_ticks GROUP BY outcome'),
    ).toEqual([{ outcome: 'fired', count }]);
  }, 60_000);

  it('needs no prompt, and its runs get the instructions as they are at that moment', async () => {
    const { id } = await create(server, { prompt: '', agent_config: { skill_spec: 'acme/shop:release' } });
    await fireAt('2027-05-04T09:00:00Z');
    await git.commit('acme/shop', { [SKILL]: skillFile('Tag it, and tell.') });
    await refresh();
    await fireAt('2027-05-05T09:00:00Z');
    await git.commit('acme/shop', { [SKILL]: null });
    await refresh();
    await fireAt('2027-05-06T09:00:00Z');

    const [second, first, ...others] = await runsOf(server, id);
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      title: 'release',
      agent_config: { skill_spec: `acme/shop:${SKILL}`, base_prompt: expect.stringMatching(/^Tag it\.\s*$/) },
    });
    expect(second).toMatchObject({ agent_config: { base_prompt: expect.stringContaining('and tell') } });
    expect(await read(server, id)).toMatchObject({
      last_spawn_error: 'agent_config.skill_spec: names no skill of a repository that you can reach',
      history: { next_run: '2027-05-07T09:00:00.000Z' },
    });
  });
});

describe('a repository that does not answer', () => {
  const clock = new TurnedClock(START);
  const sockets = new Set<Socket>();
  let host: Server;
  let server: TestApp;

  beforeAll(async () => {
    host = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
    host.listen(0, '127.0.0.1');
    await once(host, 'listening');
    const { port } = host.address() as AddressInfo;
    server = await startTestApp(
      { ROLES: 'api', GIT_BASE_URL: `http://127.0.0.1:${String(port)}` },
      undefined,
      clock,
    );
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    host.close();
    await server.close();
  });

  it('keeps nobody waiting but the schedule that needs it, which fails in the end and goes on', async () => {
    const slow = await create(server, { prompt: 'Release' });
    const quick = await create(server, { prompt: 'Review' });
    await server.dataSource.query(
      `UPDATE schedules SET agent_config = '{"skill_spec": "acme/shop:release"}', skill_spec = $2 WHERE id = $1`,
      [slow.id, `acme/shop:${SKILL}`],
    );
    clock.set('2027-05-04T09:00:00Z');
    const begin = performance.now();
    expect(await server.app.get(FireTriggers).fireDue()).toBe(1);
    expect(performance.now() - begin).toBeLessThan(10_000);
    expect(await runsOf(server, quick.id)).toHaveLength(1);
    expect((await read(server, slow.id)).history).toEqual({
      last_ran: null,
      next_run: '2027-05-04T09:00:00.000Z',
    });

    for (const socket of sockets) socket.destroy();
    host.close();
    await eventually(async () => ((await server.app.get(FireTriggers).fireDue()) === 1 ? true : undefined));
    expect(await read(server, slow.id)).toMatchObject({
      last_spawn_error: 'agent_config.skill_spec: is in a repository that cannot be reached: acme/shop',
      history: { last_ran: null, next_run: '2027-05-05T09:00:00.000Z' },
    });
  });
});
