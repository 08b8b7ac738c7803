import { expect } from '@jest/globals';
import { isTerminal, type RunState } from '../../src/runs/domain/run-state.js';
import type { TaskAssignment } from '../../src/execution/protocol/worker-messages.js';
import { type Run, RunsClient, type TimelineEvent } from './runs.js';
import {
  type SimulatedRunner,
  SimulatedWorker,
  type WorkerOptions,
  type WorkerServer,
} from './simulated-worker.js';
import { eventually, type TestApp } from './test-app.js';

/** A run at one of its steps, and who is at it. */
export interface Work {
  runId: string;
  worker: SimulatedWorker;
  assignment: TaskAssignment;
  runner: SimulatedRunner;
}

/** How a run came through: what it has become, and when that began (milliseconds of the epoch): its requeue, or else its outcome. */
export interface Passage {
  outcome: string;
  at: number;
  timeline: TimelineEvent[];
}

const OUTCOMES = ['oz_run_done', 'oz_run_failed', 'oz_run_errored', 'oz_run_blocked', 'oz_run_cancelled'];

/** A service with runs and workers, in which something goes wrong. */
export class FaultScene {
  readonly runs: RunsClient;
  private readonly workers: SimulatedWorker[] = [];

  constructor(readonly server: WorkerServer & Pick<TestApp, 'call'>) {
    this.runs = new RunsClient(server);
  }

  async connect(options?: WorkerOptions): Promise<SimulatedWorker> {
    const worker = await SimulatedWorker.connect(this.server, options);
    this.workers.push(worker);
    return worker;
  }

  async assigned(options?: WorkerOptions): Promise<Work> {
    const worker = await this.connect(options);
    const runId = await this.runs.create();
    const assignment = await worker.nextAssignment();
    expect(assignment.task_id).toBe(runId);
    return { runId, worker, assignment, runner: worker.runner(assignment) };
  }

  async claimed(options?: WorkerOptions): Promise<Work> {
    const work = await this.assigned(options);
    work.worker.claim(work.assignment);
    await this.runs.untilState(work.runId, 'CLAIMED');
    return work;
  }

  async atWork(options?: WorkerOptions): Promise<Work> {
    const work = await this.claimed(options);
    expect((await work.runner.begin()).status).toBe(200);
    return work;
  }

  async finished(options?: WorkerOptions): Promise<Work> {
    const work = await this.atWork(options);
    expect((await work.runner.finish(true)).status).toBe(204);
    return work;
  }

  /** Everything that a worker and a runner do after the claim, with success. */
  async perform(worker: SimulatedWorker, assignment: TaskAssignment): Promise<void> {
    const runner = worker.runner(assignment);
    worker.claim(assignment);
    expect((await runner.begin()).status).toBe(200);
    expect((await runner.finish(true)).status).toBe(204);
    expect((await runner.shutDown()).status).toBe(204);
    worker.complete(assignment);
  }

  /** Until nothing happens to the run any more; a healthy worker takes what is queued. Then all that must hold of any run. */
  async passageOf(runId: string): Promise<Passage> {
    const isOver = (run: Run): boolean => isTerminal(run.state as RunState) && !run.is_sandbox_running;
    const found = await this.runs.until(
      runId,
      (run) => run.state === 'QUEUED' || isOver(run),
      'a run that is queued or over',
    );
    if (found.state === 'QUEUED') await this.serveUntil(async () => isOver(await this.runs.read(runId)));
    const run = await this.runs.read(runId);
    const timeline = await this.runs.timeline(runId);
    await this.expectOnce(run, timeline);
    const requeue = timeline.find(({ event_type: type }) => type === 'run_requeued');
    const end = timeline.find(({ event_type: type }) => OUTCOMES.includes(type));
    const reached = [run.state, run.status_message?.error_code].filter(Boolean).join(' ');
    return {
      outcome: requeue === undefined ? reached : `requeued, then ${reached}`,
      at: Date.parse((requeue ?? end)!.occurred_at),
      timeline,
    };
  }

  /** Leaves no worker and no run. */
  async clear(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.vanish()));
    await eventually(async () => {
      const [row] = await this.server.dataSource.query<{ count: number }[]>(
        'SELECT count(*)::int AS count FROM worker_connections',
      );
      return row?.count === 0 ? true : undefined;
    });
    await this.server.dataSource.query('DELETE FROM runs');
  }

  private async serveUntil(isDone: () => Promise<boolean>): Promise<void> {
    const worker = await this.connect({ workerId: 'healthy' });
    const taken = new Set<TaskAssignment>();
    await eventually(async () => {
      for (const assignment of worker.assignments.filter((each) => !taken.has(each))) {
        taken.add(assignment);
        await this.perform(worker, assignment);
      }
      return (await isDone()) ? true : undefined;
    });
    await worker.vanish();
  }

  /** No run is created, executed to an end or left open twice, and its timeline tells what has become of it. */
  private async expectOnce(run: Run, timeline: TimelineEvent[]): Promise<void> {
    const types = timeline.map(({ event_type: type }) => type);
    const count = (type: string): number => types.filter((each) => each === type).length;
    expect(types[0]).toBe('oz_run_created');
    expect(count('oz_run_created')).toBe(1);
    expect(types.filter((type) => OUTCOMES.includes(type))).toEqual([
      {
        SUCCEEDED: 'oz_run_done',
        FAILED: 'oz_run_failed',
        ERROR: 'oz_run_errored',
        BLOCKED: 'oz_run_blocked',
        CANCELLED: 'oz_run_cancelled',
      }[run.state],
    ]);
    const perExecution = (type: string): (number | undefined)[] =>
      timeline.filter((event) => event.event_type === type).map((event) => event.execution_id);
    for (const type of ['run_assigned', 'oz_run_claimed', 'run_in_progress', 'vm_shutdown']) {
      const executions = perExecution(type);
      expect(new Set(executions).size).toBe(executions.length);
    }
    const executions = await this.server.dataSource.query<{ id: string; open: boolean }[]>(
      'SELECT id, ended_at IS NULL AS open FROM run_executions WHERE run_id = $1 ORDER BY id',
      [run.run_id],
    );
    expect(executions.filter(({ open }) => open)).toEqual([]);
    expect(perExecution('run_assigned')).toEqual(executions.map(({ id }) => Number(id)));
    // An execution that came to nothing was followed by another, or by a cancel.
    expect(perExecution('run_requeued')).toEqual(
      executions.slice(0, run.state === 'CANCELLED' ? count('run_requeued') : -1).map(({ id }) => Number(id)),
    );
  }
}
