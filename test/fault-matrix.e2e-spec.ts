import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { format, resolveConfig } from 'prettier';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../src/database/data-source.js';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/database/embedded-postgres.js';
import { FaultScene, type Work } from './support/fault-scene.js';
import { type Fate, MessageProxy } from './support/message-proxy.js';
import type { RunsClient } from './support/runs.js';
import { isAlive } from './support/processes.js';
import { ServiceProcess } from './support/service-process.js';
import { call, eventually, startTestApp, type TestApp } from './support/test-app.js';
import { WorkerProcess } from './support/worker-process.js';

const DOCUMENT = 'docs/faults.md';
const SECOND = 1000;

/** Short ones, so that the test is. */
const CLAIM_DEADLINE_SECONDS = 2;
const LEASE_SECONDS = 3;
const ENVIRONMENT = {
  CLAIM_DEADLINE_SECONDS: String(CLAIM_DEADLINE_SECONDS),
  LEASE_SECONDS: String(LEASE_SECONDS),
};

/** Until when the run has its outcome, or is queued again; counted from the fault, after a restart from its end. */
const BOUNDS = {
  'at once': 2,
  'as its runner works': 8,
  'claim deadline': CLAIM_DEADLINE_SECONDS + 3,
  lease: LEASE_SECONDS + 3,
} as const;

/** What a fault leaves behind: the run, and when it happened (milliseconds of the epoch). */
interface Aftermath {
  scene: FaultScene;
  runId: string;
  faultAt: number;
}

interface FaultCase {
  fault: string;
  step: string;
  /** What becomes of the run. Several: a race that either may win. */
  holds: string | string[];
  within: keyof typeof BOUNDS;
  /** Brings a run to the step and does the damage. */
  play: () => Promise<Aftermath>;
}

const SUCCEEDED = 'SUCCEEDED';
const REQUEUED = 'requeued, then SUCCEEDED';
const NO_RESULT = 'FAILED agent_process_failed';
const LOST = 'ERROR resource_unavailable';
const CANCELLED = 'CANCELLED';

let local: FaultScene;
let runs: RunsClient;
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp(ENVIRONMENT);
  local = new FaultScene(app);
  runs = local.runs;
});
/** Ends what a case has started beside its workers. */
let endProcesses = (): Promise<void> => Promise.resolve();
afterEach(async () => {
  await endProcesses();
  endProcesses = () => Promise.resolve();
  await local.clear();
});
afterAll(() => app.close());

// --- messages and sockets, with a worker that is moved message by message ---

/** A case of a simulated worker. What `damage` does begins with the fault. */
function simulated(
  prepare: () => Promise<Work>,
  damage: (work: Work) => Promise<unknown>,
): FaultCase['play'] {
  return async () => {
    const work = await prepare();
    const faultAt = Date.now();
    await damage(work);
    return { scene: local, runId: work.runId, faultAt };
  };
}

const report = async ({ runner }: Work): Promise<void> => {
  await runner.begin();
  expect((await runner.finish(true)).status).toBe(204);
  expect((await runner.shutDown()).status).toBe(204);
};

const requeued = (runId: string) => runs.untilEvent(runId, 'run_requeued');

const completion = (run: { task_id: string; execution_id?: string }) => ({
  type: 'task_completed' as const,
  data: { ...run, message: 'Task completed successfully' },
});

/** The run once more, over another worker, whose name may be the same. */
async function nextWork({ runId }: Work, workerId = 'next'): Promise<Work> {
  const worker = await local.connect({ workerId });
  const assignment = await worker.nextAssignment();
  expect(assignment.task_id).toBe(runId);
  return { runId, worker, assignment, runner: worker.runner(assignment) };
}

const older = { workerId: 'older', namesNoExecution: true };

/** Cancels while something else happens. The worker confirms, if it is told. */
const cancelDuring = (prepare: () => Promise<Work>, race: (work: Work) => unknown): FaultCase['play'] =>
  simulated(prepare, async (work) => {
    const [{ status }] = await Promise.all([runs.cancel(work.runId), race(work)]);
    expect([200, 400, 409]).toContain(status);
    if (status === 200) {
      expect((await runs.read(work.runId)).state).toBe('CANCELLED');
      await local.connect({ workerId: work.worker.workerId });
      const over = await work.runner.finish(true);
      expect([401, 409]).toContain(over.status);
      await work.runner.shutDown();
    } else if ((await runs.read(work.runId)).state === 'CLAIMED') {
      await report(work);
    }
  });

const ofMessages: FaultCase[] = [
  {
    fault: 'socket cut',
    step: 'before the claim',
    holds: REQUEUED,
    within: 'at once',
    play: simulated(
      () => local.assigned(),
      ({ worker }) => worker.vanish(),
    ),
  },
  {
    fault: 'socket cut',
    step: 'after the claim, runner alive',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.claimed(),
      async (work) => {
        await work.worker.vanish();
        await report(work);
      },
    ),
  },
  {
    fault: 'socket cut',
    step: 'after the claim, machine gone',
    holds: LOST,
    within: 'lease',
    play: simulated(
      () => local.claimed(),
      ({ worker }) => worker.vanish(),
    ),
  },
  {
    fault: 'socket cut',
    step: 'in progress, machine gone',
    holds: LOST,
    within: 'lease',
    play: simulated(
      () => local.atWork(),
      ({ worker }) => worker.vanish(),
    ),
  },
  {
    fault: 'socket cut',
    step: 'at completion, which comes late on another connection',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.finished(),
      async ({ worker, assignment }) => {
        await worker.vanish();
        (await local.connect()).complete(assignment);
      },
    ),
  },
  {
    fault: 'socket cut',
    step: 'at completion without a result, which comes late on another connection',
    holds: NO_RESULT,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async ({ worker, assignment }) => {
        await worker.vanish();
        (await local.connect()).complete(assignment);
      },
    ),
  },
  {
    fault: 'message twice',
    step: 'claim',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.claimed(),
      async (work) => {
        work.worker.claim(work.assignment);
        await work.worker.untilHandled();
        expect(work.worker.cancellations).toEqual([]);
        await report(work);
      },
    ),
  },
  {
    fault: 'message twice',
    step: 'finish-task, the second time with another result',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async (work) => {
        await work.runner.finish(true);
        expect((await work.runner.finish(false)).status).toBe(204);
        await work.runner.shutDown();
      },
    ),
  },
  {
    fault: 'message twice',
    step: 'completion',
    holds: NO_RESULT,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async ({ worker, assignment }) => {
        worker.complete(assignment);
        worker.complete(assignment);
        await worker.untilHandled();
      },
    ),
  },
  {
    fault: 'messages reordered',
    step: 'completion before the claim',
    holds: NO_RESULT,
    within: 'at once',
    play: simulated(
      () => local.assigned(),
      async ({ worker, assignment }) => {
        worker.complete(assignment);
        worker.claim(assignment);
        expect((await worker.nextCancellation()).execution_id).toBe(assignment.execution_id);
      },
    ),
  },
  {
    fault: 'messages reordered',
    step: 'all of the runner before the claim',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.assigned(),
      async (work) => {
        await report(work);
        work.worker.claim(work.assignment);
        await work.worker.untilHandled();
      },
    ),
  },
  {
    fault: 'message lost',
    step: 'claim; it comes after the deadline, when another worker has the run',
    holds: REQUEUED,
    within: 'claim deadline',
    play: simulated(
      () => local.assigned(),
      async (work) => {
        await requeued(work.runId);
        // Of two idle workers either may get it.
        await work.worker.vanish();
        const next = await nextWork(work);
        next.worker.claim(next.assignment);
        const late = await local.connect({ workerId: work.worker.workerId });
        late.claim(work.assignment);
        expect((await late.nextCancellation()).execution_id).toBe(work.assignment.execution_id);
        expect((await work.runner.finish(true)).status).toBe(401);
        await report(next);
      },
    ),
  },
  {
    fault: 'message lost',
    step: 'claim; the runner reports nevertheless',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(() => local.assigned(), report),
  },
  {
    fault: 'message lost',
    step: 'completion, and the runner reports nothing',
    holds: LOST,
    within: 'lease',
    play: simulated(
      () => local.atWork(),
      () => Promise.resolve(),
    ),
  },
  {
    fault: 'message lost',
    step: 'completion and report-shutdown, after finish-task',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      ({ runner }) => runner.finish(true),
    ),
  },
  {
    fault: 'message lost',
    step: 'report-shutdown; the completion arrives',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.finished(),
      async ({ worker, assignment }) => worker.complete(assignment),
    ),
  },
  {
    fault: 'message lost',
    step: 'finish-task; report-shutdown arrives',
    holds: NO_RESULT,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      ({ runner }) => runner.shutDown(),
    ),
  },
  {
    fault: 'message unknown or malformed',
    step: 'between any two',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.assigned(),
      async (work) => {
        const { worker, assignment } = work;
        const nonsense = (): void => {
          for (const text of [
            '',
            '{',
            '[]',
            '{"type":"execution_closed","data":{}}',
            '{"type":"task_failed"}',
          ])
            worker.sendText(text);
        };
        nonsense();
        worker.claim(assignment);
        nonsense();
        await worker.untilHandled();
        await report(work);
        nonsense();
      },
    ),
  },
  {
    fault: 'rejection',
    step: 'of the assignment',
    holds: REQUEUED,
    within: 'at once',
    play: simulated(
      () => local.assigned(),
      async ({ worker, assignment }) => worker.reject(assignment),
    ),
  },
  {
    fault: 'rejection',
    step: 'again and again, with a growing pause',
    holds: REQUEUED,
    within: 'at once',
    play: simulated(
      () => local.assigned(),
      async (work) => {
        work.worker.reject(work.assignment);
        for (const workerId of ['second', 'third']) {
          const next = await nextWork(work, workerId);
          next.worker.reject(next.assignment);
        }
        const last = await nextWork(work, 'fourth');
        last.worker.claim(last.assignment);
        await report(last);
        const timeline = await runs.timeline(work.runId);
        const timesOf = (type: string) =>
          timeline.filter((event) => event.event_type === type).map((event) => Date.parse(event.occurred_at));
        const [, ...assigned] = timesOf('run_assigned');
        const pauses = timesOf('run_requeued').map((time, index) => (assigned[index] ?? 0) - time);
        expect(pauses).toHaveLength(3);
        expect(pauses[1]).toBeGreaterThanOrEqual(1 * SECOND);
        expect(pauses[2]).toBeGreaterThanOrEqual(2 * SECOND);
      },
    ),
  },
  {
    fault: 'message about another execution',
    step: 'completion and failure of the one before',
    holds: REQUEUED,
    within: 'at once',
    play: simulated(
      () => local.assigned({ workerId: 'again' }),
      async (work) => {
        await work.worker.vanish();
        const next = await nextWork(work, 'again');
        next.worker.claim(next.assignment);
        await runs.untilState(work.runId, 'CLAIMED');
        next.worker.complete(work.assignment);
        next.worker.fail(work.assignment, { message: 'too late', failure_reason: 'agent_invocation' });
        await next.worker.untilHandled();
        expect((await runs.read(work.runId)).state).toBe('CLAIMED');
        await report(next);
      },
    ),
  },
  {
    fault: 'message about another execution',
    step: 'of another worker, in progress',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async (work) => {
        const stranger = await local.connect({ workerId: 'stranger' });
        stranger.complete(work.assignment);
        stranger.fail(work.assignment, { message: 'not mine' });
        await stranger.untilHandled();
        await report(work);
      },
    ),
  },
  {
    fault: 'worker stops gracefully',
    step: 'in progress',
    holds: LOST,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async ({ worker, assignment }) => {
        worker.fail(assignment, { message: 'interrupted', failure_reason: 'graceful_shutdown' });
        await worker.close();
      },
    ),
  },
  {
    fault: 'worker of the older revision',
    step: 'claim and completion arrive together on a later connection',
    holds: NO_RESULT,
    within: 'at once',
    play: simulated(
      () => local.assigned(older),
      async (work) => {
        // Its connection dies unnoticed: both messages wait in its queue.
        const later = await local.connect(older);
        later.claim(work.assignment);
        later.complete(work.assignment);
        await later.untilHandled();
      },
    ),
  },
  {
    fault: 'worker of the older revision',
    step: 'reconnects in progress and reports the end',
    holds: SUCCEEDED,
    within: 'at once',
    play: simulated(
      () => local.atWork(older),
      async (work) => {
        await work.worker.vanish();
        const back = await local.connect(older);
        await work.runner.finish(true);
        back.complete(work.assignment);
        await back.untilHandled();
        expect(back.assignments).toEqual([]);
      },
    ),
  },
  {
    fault: 'worker of the older revision',
    step: 'claims twice, and completes what was given to another since',
    holds: REQUEUED,
    within: 'at once',
    play: simulated(
      () => local.assigned(older),
      async (work) => {
        await work.worker.vanish();
        const next = await nextWork(work);
        const back = await local.connect(older);
        back.claim(work.assignment);
        back.claim(work.assignment);
        back.send(completion({ task_id: work.runId }));
        await back.untilHandled();
        next.worker.claim(next.assignment);
        await report(next);
      },
    ),
  },
  {
    fault: 'cancel',
    step: 'QUEUED, when a worker comes',
    holds: [CANCELLED, SUCCEEDED],
    within: 'as its runner works',
    play: async () => {
      const runId = await runs.create();
      const faultAt = Date.now();
      const [{ status }, worker] = await Promise.all([runs.cancel(runId), local.connect()]);
      if (status !== 200) await local.perform(worker, await worker.nextAssignment());
      else expect(worker.assignments).toEqual([]);
      return { scene: local, runId, faultAt };
    },
  },
  {
    fault: 'cancel',
    step: 'PENDING, at the claim',
    holds: [CANCELLED, SUCCEEDED],
    within: 'at once',
    play: cancelDuring(
      () => local.assigned(),
      async ({ worker, assignment }) => {
        worker.claim(assignment);
        await worker.untilHandled();
      },
    ),
  },
  {
    fault: 'cancel',
    step: 'PENDING, as the socket is cut',
    holds: [REQUEUED, 'requeued, then CANCELLED'],
    within: 'at once',
    play: cancelDuring(
      () => local.assigned(),
      ({ worker }) => worker.vanish(),
    ),
  },
  {
    fault: 'cancel',
    step: 'CLAIMED, as the socket is cut',
    holds: CANCELLED,
    within: 'at once',
    play: cancelDuring(
      () => local.claimed(),
      ({ worker }) => worker.vanish(),
    ),
  },
  {
    fault: 'cancel',
    step: 'INPROGRESS, at finish-task',
    holds: [CANCELLED, SUCCEEDED],
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async ({ runId, runner, worker, assignment }) => {
        const [cancel, finish] = await Promise.all([runs.cancel(runId), runner.finish(true)]);
        expect([cancel.status, finish.status]).toEqual(cancel.status === 200 ? [200, 409] : [400, 204]);
        worker.complete(assignment);
      },
    ),
  },
  {
    fault: 'cancel',
    step: 'INPROGRESS, at completion without a result',
    holds: [CANCELLED, NO_RESULT],
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async ({ runId, worker, assignment }) => {
        worker.complete(assignment);
        const { status } = await runs.cancel(runId);
        expect([200, 400]).toContain(status);
      },
    ),
  },
  {
    fault: 'cancel',
    step: 'INPROGRESS, as the lease runs out',
    holds: [CANCELLED, LOST],
    within: 'lease',
    play: simulated(
      () => local.atWork(),
      async ({ runId, worker }) => {
        await worker.vanish();
        await delay(LEASE_SECONDS * SECOND);
        const { status } = await runs.cancel(runId);
        expect([200, 400]).toContain(status);
      },
    ),
  },
  {
    fault: 'cancel',
    step: 'INPROGRESS; the worker is away and learns of it when it is back',
    holds: CANCELLED,
    within: 'at once',
    play: simulated(
      () => local.atWork(),
      async ({ runId, worker, assignment }) => {
        await worker.vanish();
        expect((await runs.cancel(runId)).status).toBe(200);
        const back = await local.connect();
        expect((await back.nextCancellation()).task_id).toBe(runId);
        back.complete(assignment, 'CANCELLED');
      },
    ),
  },
];

// --- kill -9 of the real worker, the real runner and its agent; their messages lost, doubled and cut off ---

interface Processes {
  worker: WorkerProcess;
  proxy: MessageProxy;
}

const bash = (script: string): string => `Run this:\n\`\`\`bash\n${script}\n\`\`\`\n`;

/** A case of real processes: the fault strikes when the message is there. */
function real(
  moment: 'before' | 'after',
  message: string,
  strike: (processes: Processes) => Promise<Fate>,
  script = 'true',
): FaultCase['play'] {
  return async () => {
    const proxy = await MessageProxy.to(app.url);
    const worker = await WorkerProcess.start(proxy.url);
    endProcesses = async () => {
      await worker.remove();
      await proxy.close();
    };
    let faultAt = 0;
    const struck = proxy.next(moment, message, async () => {
      const fate = await strike({ worker, proxy });
      faultAt = Date.now();
      return fate;
    });
    const runId = await runs.create({ prompt: bash(script) });
    await struck;
    return { scene: local, runId, faultAt };
  };
}
const LAUNCH = 'harness-support/execution';
const BEGIN = 'agent/events/{id}';
const PROMPT = 'harness-support/resolve-prompt';
const FINISH = 'harness-support/finish-task';
const SHUTDOWN = 'harness-support/report-shutdown';

const killWorker = async ({ worker }: Processes): Promise<Fate> => {
  await worker.kill();
  return 'deliver';
};
const killRunner = async ({ worker }: Processes): Promise<Fate> => {
  expect(await worker.killRunners()).toBe(1);
  return 'cut';
};
const killBoth = async ({ worker }: Processes): Promise<Fate> => {
  await worker.kill();
  expect(await worker.killRunners()).toBe(1);
  return 'cut';
};
const fate = (what: Fate) => () => Promise.resolve(what);
const cutSocket = ({ proxy }: Processes): Promise<Fate> => {
  proxy.cutWorkers();
  return Promise.resolve('deliver');
};

const ofProcesses: FaultCase[] = [
  ...(
    [
      ['before the claim', 'before', 'task_assignment', REQUEUED, 'at once'],
      ['after the claim, as the runner starts', 'before', LAUNCH, SUCCEEDED, 'as its runner works'],
      ['in progress', 'after', BEGIN, SUCCEEDED, 'as its runner works'],
      ['at finish-task', 'before', FINISH, SUCCEEDED, 'as its runner works'],
      ['after finish-task, before report-shutdown', 'before', SHUTDOWN, SUCCEEDED, 'at once'],
      ['at its completion', 'before', 'task_completed', SUCCEEDED, 'at once'],
    ] as const
  ).map(([step, moment, message, holds, within]) => ({
    fault: 'kill -9 of the worker',
    step,
    holds,
    within,
    play: real(moment, message, killWorker),
  })),
  ...(
    [
      ['as it starts', 'before', LAUNCH, NO_RESULT],
      ['in progress', 'after', PROMPT, NO_RESULT],
      ['at finish-task, which is lost', 'before', FINISH, NO_RESULT],
      ['at finish-task, which took effect', 'after', FINISH, SUCCEEDED],
      ['after finish-task, before report-shutdown', 'before', SHUTDOWN, SUCCEEDED],
    ] as const
  ).map(([step, moment, message, holds]) => ({
    fault: 'kill -9 of the runner',
    step,
    holds,
    within: 'at once' as const,
    play: real(moment, message, killRunner),
  })),
  ...(
    [
      ['after the claim', 'before', LAUNCH, LOST, 'lease'],
      ['in progress', 'after', PROMPT, LOST, 'lease'],
      ['after finish-task, before report-shutdown', 'before', SHUTDOWN, SUCCEEDED, 'at once'],
    ] as const
  ).map(([step, moment, message, holds, within]) => ({
    fault: 'kill -9 of worker and runner',
    step,
    holds,
    within,
    play: real(moment, message, killBoth),
  })),
  {
    fault: 'kill -9 of the agent',
    step: 'in progress',
    holds: NO_RESULT,
    within: 'as its runner works',
    play: real('after', PROMPT, fate('deliver'), 'kill -9 $$'),
  },
  {
    fault: 'socket cut',
    step: 'at the assignment; the real worker comes back',
    holds: REQUEUED,
    within: 'at once',
    play: real('before', 'task_assignment', fate('cut')),
  },
  {
    fault: 'socket cut',
    step: 'at the real claim, which is lost',
    holds: [SUCCEEDED, REQUEUED],
    within: 'as its runner works',
    play: real('before', 'task_claimed', fate('cut')),
  },
  {
    fault: 'socket cut',
    step: 'in progress; the real worker comes back',
    holds: SUCCEEDED,
    within: 'as its runner works',
    play: real('after', BEGIN, cutSocket),
  },
  {
    fault: 'socket cut',
    step: 'at the real completion, which is lost',
    holds: SUCCEEDED,
    within: 'at once',
    play: real('before', 'task_completed', fate('cut')),
  },
  {
    fault: 'message twice',
    step: 'assignment to the real worker',
    holds: SUCCEEDED,
    within: 'as its runner works',
    play: real('before', 'task_assignment', fate('twice')),
  },
  {
    fault: 'connection cut',
    step: 'at finish-task, which is lost and repeated',
    holds: SUCCEEDED,
    within: 'as its runner works',
    play: real('before', FINISH, fate('cut')),
  },
  {
    fault: 'connection cut',
    step: 'at the answer to finish-task, which is repeated',
    holds: SUCCEEDED,
    within: 'at once',
    play: real('after', FINISH, fate('cut')),
  },
];

// --- kill -9 of the service and a restart of PostgreSQL, which strike runs at every step at the same time ---

/** The service in its own process on a PostgreSQL of its own. */
let directory: string;
let postgres: EmbeddedPostgres;
let service: ServiceProcess;
let remote: FaultScene;
let remoteData: DataSource;

const startPostgres = () =>
  startEmbeddedPostgres({
    dataDir: join(directory, 'postgres'),
    database: 'millwright',
    // What was committed must outlive the server; this machine does not crash.
    settings: { fsync: 'off' },
    log: () => undefined,
  });
const startService = (environment: Record<string, string> = {}) =>
  ServiceProcess.start({
    ...ENVIRONMENT,
    DATABASE_URL: postgres.url,
    DATA_DIR: join(directory, 'data'),
    WORKER_SLOTS: '0',
    LOG_LEVEL: 'silent',
    ...environment,
  });

const FINISHED = 'after finish-task, before report-shutdown';
const STEPS = [
  'queued',
  'before the claim',
  'at the claim, which is lost',
  'after the claim',
  'in progress',
  'in progress, machine gone as well',
  'at finish-task, which is repeated',
  FINISHED,
] as const;
type Step = (typeof STEPS)[number];

/** Brings a run to each of the steps, strikes them all at once, and goes on with those that somebody still works on. */
async function strikeAll(strike: (work: Map<Step, Work>) => Promise<void>): Promise<Map<Step, Aftermath>> {
  const steps = STEPS.filter((step) => step !== 'queued');
  // Each has room for one run: they share them, and the last one waits.
  const workers = await Promise.all(
    steps.map((step) => remote.connect({ workerId: step.replace(/\W+/g, '-'), slots: 1 })),
  );
  await Promise.all(steps.map(() => remote.runs.create()));
  const entries = steps.map(async (step, index): Promise<[Step, Work]> => {
    const worker = workers[index]!;
    const assignment = await worker.nextAssignment();
    return [step, { runId: assignment.task_id, worker, assignment, runner: worker.runner(assignment) }];
  });
  const work = new Map(await Promise.all(entries));
  const at = (step: Step): Work => work.get(step)!;
  const queued = await remote.runs.create();

  const unclaimed: Step[] = ['before the claim', 'at the claim, which is lost'];
  for (const [step, { worker, assignment }] of work) if (!unclaimed.includes(step)) worker.claim(assignment);
  await Promise.all(workers.map((worker) => worker.untilHandled()));
  for (const [step, { runner }] of work) {
    if (step !== 'after the claim' && !unclaimed.includes(step))
      expect((await runner.begin()).status).toBe(200);
  }
  expect((await at(FINISHED).runner.finish(true)).status).toBe(204);

  await strike(work);
  const faultAt = Date.now();
  await report(at('after the claim'));
  await report(at('in progress'));
  await report(at('at finish-task, which is repeated'));
  expect((await at(FINISHED).runner.shutDown()).status).toBe(204);
  return new Map(
    STEPS.map((step) => [
      step,
      { scene: remote, runId: step === 'queued' ? queued : at(step).runId, faultAt },
    ]),
  );
}

/** As far as the messages go that are under way when the fault strikes: nobody answers them. */
async function leaveUnanswered(work: Map<Step, Work>): Promise<void> {
  const { worker, assignment } = work.get('at the claim, which is lost')!;
  worker.claim(assignment);
  const answer = await work
    .get('at finish-task, which is repeated')!
    .runner.finish(true)
    .catch(() => undefined);
  expect([undefined, 503]).toContain(answer?.status);
  await Promise.all([...work.values()].map((each) => each.worker.vanish()));
}

const killService = async (work: Map<Step, Work>): Promise<void> => {
  await service.stop('SIGKILL');
  await leaveUnanswered(work);
  service = await startService({ PORT: new URL(service.url).port });
};

const restartPostgres = async (work: Map<Step, Work>): Promise<void> => {
  process.kill(postgres.pid, 'SIGQUIT');
  await eventually(() => Promise.resolve(isAlive(postgres.pid) ? undefined : true));
  await leaveUnanswered(work);
  postgres = await startPostgres();
  await eventually(async () => ((await remote.runs.list().catch(() => undefined)) ? true : undefined));
};

const EXPECTED: Record<Step, Pick<FaultCase, 'holds' | 'within'>> = {
  queued: { holds: SUCCEEDED, within: 'as its runner works' },
  'before the claim': { holds: REQUEUED, within: 'claim deadline' },
  'at the claim, which is lost': { holds: REQUEUED, within: 'claim deadline' },
  'after the claim': { holds: SUCCEEDED, within: 'at once' },
  'in progress': { holds: SUCCEEDED, within: 'at once' },
  'in progress, machine gone as well': { holds: LOST, within: 'lease' },
  'at finish-task, which is repeated': { holds: SUCCEEDED, within: 'at once' },
  [FINISHED]: { holds: SUCCEEDED, within: 'at once' },
};

function casesOfAllSteps(fault: string, strike: (work: Map<Step, Work>) => Promise<void>): FaultCase[] {
  let struck: Promise<Map<Step, Aftermath>> | undefined;
  return STEPS.map((step) => ({
    fault,
    step,
    ...EXPECTED[step],
    play: async () => {
      struck ??= strikeAll(strike);
      return (await struck).get(step)!;
    },
  }));
}

const CASES: FaultCase[] = [
  ...ofMessages,
  ...ofProcesses,
  ...casesOfAllSteps('kill -9 of the service', killService),
  ...casesOfAllSteps('kill -9 of PostgreSQL', restartPostgres),
];

describe('after a fault', () => {
  const measured = new Map<FaultCase, { outcome: string; seconds: number }>();

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'millwright-faults-'));
    await chmod(directory, 0o711); // as root the server runs under another account
    postgres = await startPostgres();
    service = await startService();
    remoteData = createDataSource({ url: postgres.url });
    await remoteData.initialize();
    const { url } = service;
    remote = new FaultScene({
      url,
      dataSource: remoteData,
      call: (method, path, body, headers) => call(url + path, method, body, headers),
    });
  }, 60_000);
  afterAll(async () => {
    await service.stop();
    await remoteData.destroy();
    await postgres.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });

  it.each(CASES)('$fault: $step', async (each) => {
    const { scene, runId, faultAt } = await each.play();
    const { outcome, at } = await scene.passageOf(runId);
    const seconds = Math.max(0, at - faultAt) / SECOND;
    measured.set(each, { outcome, seconds });
    expect([each.holds].flat()).toContain(outcome);
    expect(seconds).toBeLessThan(BOUNDS[each.within]);
  });

  it(`every run is as ${DOCUMENT} says (UPDATE_DOCS=1 npm test -- fault-matrix writes it)`, async () => {
    process.stdout.write(table(CASES, (each) => measured.get(each)));
    expect(CASES.length).toBeGreaterThanOrEqual(30);
    expect(new Set(CASES.map(({ fault, step }) => `${fault}: ${step}`)).size).toBe(CASES.length);
    const markdown = [
      '# What becomes of a run when something fails',
      'Made by `test/fault-matrix.e2e-spec.ts`, which brings a run to each step, does the damage to real processes, sockets and servers, and then looks: the run has one outcome or is queued again within the bound, a healthy worker brings what is queued to its end, every execution is closed, none succeeded twice, and the timeline tells all of it.',
      `The bounds, counted from the fault (after a restart from its end): *at once* is ${String(BOUNDS['at once'])} s; the *claim deadline* (\`CLAIM_DEADLINE_SECONDS\`) and the *lease* (\`LEASE_SECONDS\`) each 3 s more than is configured; *as its runner works* says that nobody waits for anything. Where two outcomes stand, two things race, and either may come first.`,
      [
        '| what fails | when | the run | within |',
        '| --- | --- | --- | --- |',
        ...CASES.map(
          ({ fault, step, holds, within }) =>
            `| ${[fault, step, [holds].flat().join(' or '), within].join(' | ')} |`,
        ),
      ].join('\n'),
    ].join('\n\n');
    const text = await format(markdown, { ...(await resolveConfig(DOCUMENT)), parser: 'markdown' });
    if (process.env.UPDATE_DOCS === '1') await writeFile(DOCUMENT, text);
    expect(await readFile(DOCUMENT, 'utf8')).toBe(text);
  });
});

/** What was found, with the seconds that it took, for whoever reads the output of the test. */
function table(
  cases: FaultCase[],
  found: (each: FaultCase) => { outcome: string; seconds: number } | undefined,
): string {
  const rows = cases.map((each) => {
    const result = found(each);
    return [
      each.fault,
      each.step,
      result?.outcome ?? '?',
      result === undefined ? '?' : `${result.seconds.toFixed(1)} s`,
      `${String(BOUNDS[each.within])} s`,
    ];
  });
  const all = [['what fails', 'when', 'the run', 'took', 'bound'], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  return `\n${all.map(line).join('\n')}\n`;
}
