import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OzAPI, { AuthenticationError, BadRequestError, NotFoundError } from 'oz-agent-sdk';
import { SimulatedWorker } from './support/simulated-worker.js';
import { ADMIN_KEY, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let client: OzAPI;

beforeAll(async () => {
  server = await startTestApp();
  client = new OzAPI({ apiKey: ADMIN_KEY, baseURL: `${server.url}/api/v1` });
});
afterAll(async () => {
  await server.close();
});

describe('the published TypeScript client, unchanged', () => {
  it('starts a run, reads it and cancels it', async () => {
    const { run_id: runId, state } = await client.agent.run({
      prompt: 'Go',
      title: 'From the client',
      config: { name: 'client', model_id: 'script' },
    });
    expect(state).toBe('QUEUED');
    expect(await client.agent.runs.retrieve(runId)).toMatchObject({
      run_id: runId,
      title: 'From the client',
      agent_config: { name: 'client' },
    });
    expect(await client.agent.runs.cancel(runId)).toBe(runId);
    expect((await client.agent.runs.retrieve(runId)).state).toBe('CANCELLED');
  });

  it('lists skills, environments and models', async () => {
    expect(await client.agent.list()).toEqual({ agents: [] });
  });

  it('keeps schedules', async () => {
    const { schedules } = client.agent;
    const { id } = await schedules.create({
      name: 'Daily Code Review',
      cron_schedule: '0 9 * * *',
      prompt: 'Review',
      enabled: true,
      agent_config: { model_id: 'script' },
    });
    expect((await schedules.list()).schedules.map(({ name }) => name)).toEqual(['Daily Code Review']);
    const paused = await schedules.pause(id);
    expect(paused).toMatchObject({ enabled: false, history: { last_ran: null, next_run: null } });
    const updated = await schedules.update(id, {
      name: 'Hourly',
      cron_schedule: '@hourly',
      prompt: 'Review',
      enabled: false,
    });
    expect(updated).toMatchObject({ cron_schedule: '@hourly', agent_config: { model_id: 'script' } });
    const { history } = await schedules.resume(id);
    expect(Date.parse(history?.next_run ?? '')).toBeGreaterThan(Date.now() - 1000);
    expect(await schedules.retrieve(id)).toMatchObject({ id, name: 'Hourly', enabled: true, history });
    expect(await schedules.delete(id)).toEqual({ success: true });
    expect(await schedules.list()).toEqual({ schedules: [] });
    const quiet = client.withOptions({ maxRetries: 0 });
    await expect(
      quiet.agent.schedules.create({ name: 'Never', cron_schedule: '0 0 31 2 *', prompt: 'Go' }),
    ).rejects.toBeInstanceOf(BadRequestError);
  });

  it('throws its own classes of errors, with what is wrong', async () => {
    const quiet = client.withOptions({ maxRetries: 0 });
    await expect(quiet.agent.runs.retrieve('019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11')).rejects.toBeInstanceOf(
      NotFoundError,
    );
    await expect(quiet.agent.run({ prompt: '' })).rejects.toBeInstanceOf(BadRequestError);
    const stranger = new OzAPI({ apiKey: 'wk-unknown', baseURL: `${server.url}/v1`, maxRetries: 0 });
    await expect(stranger.agent.runs.retrieve('x')).rejects.toBeInstanceOf(AuthenticationError);
  });

  it('tries a cancel of a PENDING run again by itself', async () => {
    const { run_id: runId } = await client.agent.run({ prompt: 'Go' });
    const worker = await SimulatedWorker.connect(server);
    const assignment = await worker.nextAssignment();
    const cancelled = client.agent.runs.cancel(runId);
    // By now the first attempt has been refused, or will find the claim.
    worker.claim(assignment);
    expect(await cancelled).toBe(runId);
  });
});
