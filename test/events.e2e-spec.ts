import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { EventStreams } from '../src/runs/api/event-stream.js';
import { ForgetEvents } from '../src/runs/application/forget-events.js';
import { insertTeam, insertUser } from './support/identities.js';
import { EventReader, type RunEvent } from './support/event-reader.js';
import { RunsClient } from './support/runs.js';
import {
  beginNext,
  dismissWorkers,
  type SimulatedRunner,
  SimulatedWorker,
} from './support/simulated-worker.js';
import { ADMIN_KEY, eventually, startTestApp, type TestApp } from './support/test-app.js';

/** Two replicas on one database. */
let one: TestApp;
let two: TestApp;
let runs: RunsClient;
const workers: SimulatedWorker[] = [];
let readers: EventReader[] = [];

beforeAll(async () => {
  one = await startTestApp();
  two = await startTestApp({}, one);
  runs = new RunsClient(one);
});
afterEach(async () => {
  for (const reader of readers) reader.leave();
  readers = [];
  await dismissWorkers(one, workers);
});
afterAll(async () => {
  await two.close();
  await one.close();
});

const ADMIN = { Authorization: `Bearer ${ADMIN_KEY}` };

async function follow(
  server: TestApp,
  query: string,
  headers: Record<string, string> = ADMIN,
): Promise<EventReader> {
  const reader = await EventReader.open(`${server.url}/v1/agent/events/stream?${query}`, headers);
  readers.push(reader);
  return reader;
}

const list = async (query: string, headers = ADMIN, server = one): Promise<RunEvent[]> => {
  const answer = await server.call('GET', `/v1/agent/events?${query}`, undefined, headers);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body as RunEvent[];
};

async function connectWorker(): Promise<SimulatedWorker> {
  const worker = await SimulatedWorker.connect(one);
  workers.push(worker);
  return worker;
}

const until = <T>(probe: () => Promise<T[]>, count: number): Promise<T[]> =>
  eventually(async () => {
    const found = await probe();
    return found.length >= count ? found : undefined;
  });

const keyOf = (runner: SimulatedRunner) => ({
  Authorization: `Bearer ${runner.assignment.env_vars.WARP_API_KEY ?? ''}`,
});

describe('the events of a run', () => {
  it('tell what becomes of it, in order', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const runner = await beginNext(worker);
    await runs.call('POST', `runs/${runId}/followups`, { message: 'More' });
    await runner.finish(true);
    await runner.shutDown();
    await (await beginNext(worker)).finish(false);
    const events = await until(() => list(`run_ids=${runId}`), 5);
    expect(events.map(({ event_type: type }) => type)).toEqual([
      'run_in_progress',
      'new_message',
      'run_succeeded',
      'run_in_progress',
      'run_failed',
    ]);
    const executionId = runner.assignment.execution_id;
    expect(events[0]).toEqual({
      event_type: 'run_in_progress',
      run_id: runId,
      ref_id: null,
      execution_id: executionId,
      occurred_at: expect.stringMatching(/Z$/),
      sequence: expect.any(Number),
    });
    const messages = await one.call('GET', `/v1/agent/messages/${runId}`);
    expect(events[1]?.ref_id).toBe((messages.body as { message_id: string }[])[0]?.message_id);
    const sequences = events.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
  });

  it('tell of every end', async () => {
    const worker = await connectWorker();
    const ends: [string, (runner: SimulatedRunner) => Promise<unknown>][] = [
      ['run_errored', (runner) => runner.shutDown({ category: 'oom', message: 'No memory' })],
      ['run_cancelled', (runner) => runs.cancel(runner.assignment.task_id)],
      ['run_blocked', (runner) => report(runner, { event_type: 'run_blocked' })],
    ];
    for (const [type, end] of ends) {
      await runs.create();
      const runner = await beginNext(worker);
      await end(runner);
      const events = await until(() => list(`run_ids=${runner.assignment.task_id}`), 2);
      expect(events.map(({ event_type }) => event_type)).toEqual(['run_in_progress', type]);
    }
  });
});

const report = (runner: SimulatedRunner, event: object) =>
  runner.call('POST', `agent/events/${runner.assignment.task_id}`, event);

describe('a report of an agent', () => {
  it('answers with the number of its event, and repeated with the same', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const runner = await beginNext(worker);
    const [began] = await list(`run_ids=${runId}`);
    expect((await report(runner, { event_type: 'run_in_progress' })).body).toEqual({
      sequence: began?.sequence,
    });
    const linked = await report(runner, { event_type: 'run_session_linked', ref_id: 'a-session' });
    expect((await list(`run_ids=${runId}&since=${String(began?.sequence)}`))[0]).toMatchObject({
      ...(linked.body as object),
      event_type: 'run_session_linked',
      ref_id: 'a-session',
    });
    for (const event of [{}, { event_type: 'run_succeeded' }, { event_type: 'run_blocked', ref_id: 1 }]) {
      expect((await report(runner, event)).status).toBe(400);
    }
  });

  it('says how far it has read, and that never goes back', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const runner = await beginNext(worker);
    const before = (await runs.read(runId)).updated_at;
    const note = (sequence: unknown) =>
      runner.call('PATCH', `agent/runs/${runId}/event-sequence`, { sequence });
    expect((await note(7)).status).toBe(204);
    expect((await note(5)).status).toBe(204);
    expect(await runs.read(runId)).toMatchObject({ last_event_sequence: 7, updated_at: before });
    for (const wrong of [-1, 1.5, '7', 2 ** 53]) {
      expect(await note(wrong)).toMatchObject({ status: 400, body: { errors: [{ field: 'sequence' }] } });
    }
    const other = await runs.create();
    expect((await runner.call('PATCH', `agent/runs/${other}/event-sequence`, { sequence: 1 })).status).toBe(
      404,
    );
  });
});

describe('the list of events', () => {
  it('is paged by the number of the last one', async () => {
    const ids = await Promise.all([runs.create(), runs.create()]);
    for (let n = 0; n < 5; n++) {
      for (const id of ids) await runs.call('POST', `runs/${id}/followups`, { message: 'x' });
    }
    const both = `run_ids=${ids[0]}&run_ids[]=${ids[1]}`;
    const all = await until(() => list(both), 10);
    const paged: RunEvent[] = [];
    for (;;) {
      const page = await list(`${both}&limit=3&since=${String(paged.at(-1)?.sequence ?? 0)}`);
      expect(page.length).toBeLessThanOrEqual(3);
      if (page.length === 0) break;
      paged.push(...page);
    }
    expect(paged).toEqual(all);
    expect(await list(`run_ids[]=${ids[1]}`)).toEqual(all.filter((event) => event.run_id === ids[1]));
  });

  it('refuses what is wrong, naming it', async () => {
    const runId = await runs.create();
    const refused: [string, string][] = [
      ['', 'run_ids'],
      ['run_ids=nonsense', 'run_ids'],
      [Array.from({ length: 101 }, () => `run_ids=${randomUUID()}`).join('&'), 'run_ids'],
      [`run_ids=${runId}&ancestor_run_id=${runId}`, 'run_ids'],
      ['ancestor_run_id=nonsense', 'ancestor_run_id'],
      [`run_ids=${runId}&limit=501`, 'limit'],
      [`run_ids=${runId}&limit=0`, 'limit'],
      [`run_ids=${runId}&since=-1`, 'since'],
      [`run_ids=${runId}&since=x`, 'since'],
      [`ancestor_run_id=${runId}&include_self=perhaps`, 'include_self'],
    ];
    for (const [query, field] of refused) {
      for (const path of ['events', 'events/stream']) {
        if (field === 'limit' && path === 'events/stream') continue;
        expect([query, await runs.call('GET', `${path}?${query}`)]).toMatchObject([
          query,
          { status: 400, body: { errors: [{ field }] } },
        ]);
      }
    }
    const stream = await one.call('GET', `/v1/agent/events/stream?run_ids=${runId}`, undefined, {
      'Last-Event-ID': 'x',
    });
    expect(stream).toMatchObject({ status: 400, body: { errors: [{ field: 'Last-Event-ID' }] } });
  });

  it('knows only of runs that the caller may see; a run’s own agent sees what descends from its run', async () => {
    const worker = await connectWorker();
    const parent = await runs.create();
    const runner = await beginNext(worker);
    const child = (await runner.call('POST', 'agent/runs', { prompt: 'Child' })).body as { run_id: string };
    const other = await runs.create();
    const stranger = await insertUser(one.dataSource, { teams: [await insertTeam(one.dataSource)] });
    const status = async (query: string, headers: Record<string, string>) =>
      (await one.call('GET', `/v1/agent/events?${query}`, undefined, headers)).status;
    for (const query of [`run_ids=${parent}`, `ancestor_run_id=${parent}`]) {
      expect(await status(query, stranger.headers)).toBe(404);
      expect(await status(query, keyOf(runner))).toBe(200);
    }
    expect(await status(`run_ids=${parent}&run_ids=${child.run_id}`, keyOf(runner))).toBe(200);
    expect(await status(`run_ids=${parent}&run_ids=${other}`, keyOf(runner))).toBe(404);
    expect(await status(`run_ids=${randomUUID()}`, ADMIN)).toBe(404);

    await runs.call('POST', `runs/${child.run_id}/followups`, { message: 'x' });
    const childEvents = await until(() => list(`ancestor_run_id=${parent}`, keyOf(runner)), 1);
    expect(childEvents.map(({ run_id: id }) => id)).toEqual([child.run_id]);
    const tree = await list(`ancestor_run_id=${parent}&include_self=true`, keyOf(runner));
    expect(tree.map(({ run_id: id }) => id)).toEqual([parent, child.run_id]);
    // From within the tree, what is above is not seen.
    expect(await list(`ancestor_run_id=${child.run_id}&include_self=true`)).toEqual(childEvents);
  });

  it('keeps a week', async () => {
    const runId = await runs.create();
    for (const message of ['old', 'new']) await runs.call('POST', `runs/${runId}/followups`, { message });
    const [old, young] = await until(() => list(`run_ids=${runId}`), 2);
    await one.dataSource.query(
      `UPDATE run_events SET occurred_at = now() - interval '8 days' WHERE sequence = $1`,
      [old?.sequence],
    );
    await one.app.get(ForgetEvents).execute();
    expect(await list(`run_ids=${runId}`)).toEqual([young]);
  });
});

describe('the order of events', () => {
  /** Writes events in transactions that stay open for a while, so that they commit in another order than they began in. */
  async function write(dataSource: DataSource, runIds: string[], count: number, writer: number) {
    for (let n = 0; n < count; n++) {
      const runner = dataSource.createQueryRunner();
      try {
        await runner.startTransaction();
        await runner.query(
          `INSERT INTO run_events (run_id, root_run_id, event_type, ref_id) VALUES ($1, $1, 'new_message', $2)`,
          [runIds[(writer + n) % runIds.length], `${String(writer)}-${String(n)}`],
        );
        await delay(((writer * 7 + n * 13) % 8) ** 2 * 2);
        if (n % 10 === 9) await runner.rollbackTransaction();
        else await runner.commitTransaction();
      } finally {
        await runner.release();
      }
    }
  }

  it('has no gap and no repetition for who reads on from the last number, with 8 writers and two replicas', async () => {
    const runIds = await Promise.all([runs.create(), runs.create(), runs.create()]);
    const query = runIds.map((id) => `run_ids=${id}`).join('&');
    const WRITERS = 8;
    const COUNT = 40;
    const EXPECTED = WRITERS * COUNT * 0.9;
    const streams = [await follow(one, query), await follow(two, query)];
    const polled: RunEvent[] = [];
    const poll = async () => {
      for (let turn = 0; polled.length < EXPECTED && turn < 20_000; turn++) {
        const since = String(polled.at(-1)?.sequence ?? 0);
        polled.push(...(await list(`${query}&since=${since}&limit=7`, ADMIN, turn % 2 === 0 ? one : two)));
      }
    };
    await Promise.all([
      poll(),
      ...Array.from({ length: WRITERS }, (_, writer) =>
        write(writer % 2 === 0 ? one.dataSource : two.dataSource, runIds, COUNT, writer),
      ),
    ]);
    const written = new Set(
      Array.from({ length: WRITERS }, (_, writer) =>
        Array.from({ length: COUNT }, (_, n) => `${String(writer)}-${String(n)}`).filter(
          (_, n) => n % 10 !== 9,
        ),
      ).flat(),
    );
    expect(polled).toHaveLength(EXPECTED);
    expect(new Set(polled.map(({ ref_id: ref }) => ref))).toEqual(written);
    for (const stream of streams) {
      await stream.until(EXPECTED);
      expect(stream.events).toEqual(polled);
    }
    // Nothing came in between afterwards.
    expect(await list(`${query}&limit=500`)).toEqual(polled);
  }, 60_000);

  it('is not held up by a transaction that stays open', async () => {
    const runId = await runs.create();
    const open = one.dataSource.createQueryRunner();
    await open.startTransaction();
    await open.query(
      `INSERT INTO run_events (run_id, root_run_id, event_type, ref_id) VALUES ($1, $1, 'new_message', 'early')`,
      [runId],
    );
    const insert = (ref: string) =>
      one.dataSource.query(
        `INSERT INTO run_events (run_id, root_run_id, event_type, ref_id) VALUES ($1, $1, 'new_message', $2)`,
        [runId, ref],
      );
    await insert('late');
    const [late] = await until(() => list(`run_ids=${runId}`), 1);
    expect(late?.ref_id).toBe('late');
    await open.commitTransaction();
    await open.release();
    const rest = await until(() => list(`run_ids=${runId}&since=${String(late?.sequence)}`), 1);
    expect(rest.map(({ ref_id: ref }) => ref)).toEqual(['early']);
  });
});

describe('the stream of events', () => {
  const followUp = (runId: string, message: string) =>
    runs.call('POST', `runs/${runId}/followups`, { message });

  it('tells of what happens on another replica, within a second', async () => {
    const runId = await runs.create();
    const reader = await follow(two, `run_ids=${runId}`);
    await delay(200);
    const sentAt = performance.now();
    await followUp(runId, 'x');
    await reader.until(1);
    expect(performance.now() - sentAt).toBeLessThan(1000);
    expect(reader.headers.get('content-type')).toContain('text/event-stream');
    expect(reader.ids).toEqual(reader.events.map(({ sequence }) => String(sequence)));
    expect(reader.events).toEqual(await list(`run_ids=${runId}`));
  });

  it('goes on where a reader stopped, by parameter or header, on whatever replica', async () => {
    const runId = await runs.create();
    for (let n = 0; n < 3; n++) await followUp(runId, 'x');
    const all = await until(() => list(`run_ids=${runId}`), 3);
    const first = await follow(one, `run_ids=${runId}`);
    await first.until(3);
    first.leave();
    const second = await follow(two, `run_ids=${runId}&since=${String(all[1]?.sequence)}`);
    await second.until(1);
    expect(second.events).toEqual([all[2]]);
    const third = await follow(two, `run_ids=${runId}&since=0`, {
      ...ADMIN,
      'Last-Event-ID': String(all[0]?.sequence),
    });
    await third.until(2);
    expect(third.events).toEqual(all.slice(1));
  });

  it('follows the descendants that come later', async () => {
    const worker = await connectWorker();
    const parent = await runs.create();
    const runner = await beginNext(worker);
    const reader = await follow(two, `ancestor_run_id=${parent}&include_self=true`, keyOf(runner));
    await reader.until(1);
    const child = (await runner.call('POST', 'agent/runs', { prompt: 'Child' })).body as { run_id: string };
    await (await beginNext(worker)).finish(true);
    await reader.until(3);
    expect(reader.events.map(({ event_type, run_id }) => [event_type, run_id])).toEqual([
      ['run_in_progress', parent],
      ['run_in_progress', child.run_id],
      ['run_succeeded', child.run_id],
    ]);
  });

  it('says that it is there while nothing happens, and ends when its time is over', async () => {
    const runId = await runs.create();
    const streams = one.app.get(EventStreams);
    const short = streams.limits;
    streams.limits = { ...short, heartbeatMs: 50, lifeMs: 400 };
    try {
      const reader = await follow(one, `run_ids=${runId}`);
      await reader.ended;
      expect(reader.comments).toBeGreaterThanOrEqual(3);
      expect(reader.events).toEqual([]);
    } finally {
      streams.limits = short;
    }
  });

  it('ends when its key is revoked', async () => {
    const streams = two.app.get(EventStreams);
    const usual = streams.limits;
    streams.limits = { ...usual, heartbeatMs: 50 };
    try {
      const worker = await connectWorker();
      const runId = await runs.create();
      const runner = await beginNext(worker);
      const reader = await follow(two, `run_ids=${runId}`, keyOf(runner));
      await runner.finish(true);
      await reader.until(2);
      await runner.shutDown();
      await reader.ended;
    } finally {
      streams.limits = usual;
    }
  });

  it('gives up a reader that takes nothing', async () => {
    const streams = one.app.get(EventStreams);
    const usual = streams.limits;
    streams.limits = { ...usual, stallMs: 200 };
    try {
      const runId = await runs.create();
      await one.dataSource.query(
        `INSERT INTO run_events (run_id, root_run_id, event_type, ref_id)
         SELECT $1, $1, 'new_message', repeat('x', 2000) FROM generate_series(1, 20000)`,
        [runId],
      );
      await until(() => list(`run_ids=${runId}`), 1);
      const silent = await EventReader.connectOnly(
        one.url,
        `/v1/agent/events/stream?run_ids=${runId}`,
        ADMIN,
      );
      await silent.closed;
    } finally {
      streams.limits = usual;
    }
  });

  it('ends when the service stops', async () => {
    const three = await startTestApp({}, one);
    const runId = await runs.create();
    const reader = await follow(three, `run_ids=${runId}`);
    await three.close();
    await reader.ended;
    expect(reader.failed).toBe(false);
  });
});
