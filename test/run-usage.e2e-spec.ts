import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RunsClient } from './support/runs.js';
import { SimulatedWorker } from './support/simulated-worker.js';
import { startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let runs: RunsClient;
let worker: SimulatedWorker;

beforeAll(async () => {
  server = await startTestApp();
  runs = new RunsClient(server);
  worker = await SimulatedWorker.connect(server, { slots: 10 });
});
afterAll(async () => {
  await worker.vanish();
  await server.close();
});

const usageOf = async (runId: string): Promise<unknown> =>
  ((await runs.read(runId)) as { request_usage?: unknown }).request_usage;

const start = async () => {
  const runId = await runs.create();
  const assignment = await worker.nextAssignment();
  worker.claim(assignment);
  await runs.untilState(runId, 'CLAIMED');
  return { runId, runner: worker.runner(assignment) };
};

describe('the usage of a run', () => {
  it('is the last that its execution reported, in the detail and in the list', async () => {
    const { runId, runner } = await start();
    expect(await usageOf(runId)).toBeUndefined();
    const report = (body: object) => runner.call('POST', 'harness-support/usage', body);
    expect((await report({ total_tokens: 10, cost_usd: 0.25 })).status).toBe(204);
    expect((await report({ total_tokens: 30, cost_usd: 0.5, some_later_field: 1 })).status).toBe(204);

    const usage = { total_tokens: 30, inference_cost_usd: 0.5 };
    expect(await usageOf(runId)).toEqual(usage);
    const { runs: listed } = await runs.list();
    expect(listed.find(({ run_id: id }) => id === runId)).toMatchObject({ request_usage: usage });
  });

  it('adds up over the executions of the run', async () => {
    const { runId, runner } = await start();
    await runner.call('POST', 'harness-support/usage', { total_tokens: 10, cost_usd: 0.25 });
    await runner.finish(true);
    await runner.call('POST', 'harness-support/report-shutdown', {});
    await runs.call('POST', `runs/${runId}/followups`, { message: 'and again' });
    const assignment = await worker.nextAssignment();
    worker.claim(assignment);
    await worker.runner(assignment).call('POST', 'harness-support/usage', { total_tokens: 5 });

    expect(await usageOf(runId)).toEqual({ total_tokens: 15, inference_cost_usd: 0.25 });
  });

  it.each([
    ['total_tokens', { total_tokens: -1 }],
    ['total_tokens', { total_tokens: 1.5 }],
    ['total_tokens', {}],
    ['cost_usd', { total_tokens: 1, cost_usd: '1' }],
    ['cost_usd', { total_tokens: 1, cost_usd: -0.1 }],
  ])('refuses a report whose %s is wrong: %j', async (field, body) => {
    const { runId, runner } = await start();
    expect(await runner.call('POST', 'harness-support/usage', body)).toMatchObject({
      status: 400,
      body: { errors: [{ field }] },
    });
    expect(await usageOf(runId)).toBeUndefined();
  });

  it('is closed with its execution', async () => {
    const { runId, runner } = await start();
    await runs.cancel(runId);
    expect((await runner.call('POST', 'harness-support/usage', { total_tokens: 1 })).status).toBe(409);
    expect(await usageOf(runId)).toBeUndefined();
  });
});
