import { RunsClient } from './runs.js';
import type { SimulatedWorker } from './simulated-worker.js';
import { type SimulatedRunner } from './simulated-worker.js';
import { ADMIN_KEY, type Answer, call, eventually, type TestApp } from './test-app.js';

/** A scorer as the API shows it, as far as tests read it. */
export interface Scorer {
  id: number;
  name: string;
  labels: { value: string; score: number }[];
  sampling_rate: number;
}

/** A score of a run. */
export interface RunScore {
  scorer_id: number;
  scorer_name: string;
  evaluation_id: string;
  judge_run_id?: string;
  status: string;
  problem?: string;
  sampled: boolean;
  classification?: string;
  score?: number;
  passed?: boolean;
  reason?: string;
}

export const LABELS = [
  { value: 'good', score: 1, description: 'It did what it was asked' },
  { value: 'fair', score: 0.5 },
  { value: 'bad', score: 0 },
];

/** Scorers, and runs that are graded by them: everything a team does but being the agent. */
export class ScoringTeam {
  readonly runs: RunsClient;
  private made = 0;

  constructor(
    private readonly server: TestApp,
    readonly headers: Record<string, string> = { Authorization: `Bearer ${ADMIN_KEY}` },
  ) {
    this.runs = new RunsClient(server, headers);
  }

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.server.call(method, `/v1/${path}`, body, this.headers);
  }

  async agent(name = 'An agent'): Promise<string> {
    return (await this.create('agent/identities', { name })).uid as string;
  }

  async defaultAgent(): Promise<string> {
    const { body } = await this.call('GET', 'agent/identities');
    return (body as { agents: { uid: string; name: string }[] }).agents[0]!.uid;
  }

  /** What a scorer needs, and what the test wants of it. */
  settings(agentUid: string, settings: object = {}): Record<string, unknown> {
    this.made += 1;
    return {
      name: `Scorer ${String(this.made)}`,
      rubric: 'Did it do what it was asked?',
      agent_uids: [agentUid],
      labels: LABELS,
      passing_score: 0.5,
      sampling_rate: 1,
      ...settings,
    };
  }

  async scorer(agentUid: string, settings: object = {}): Promise<Scorer> {
    return (await this.create('scorers', this.settings(agentUid, settings))) as unknown as Scorer;
  }

  async scores(runId: string): Promise<RunScore[]> {
    return ((await this.call('GET', `agent/runs/${runId}/scores`)).body as { scores: RunScore[] }).scores;
  }

  /** Waits until judges have been given runs for so many scores of the run. */
  dispatched(runId: string, count: number): Promise<RunScore[]> {
    return eventually(
      async () => {
        const scores = await this.scores(runId);
        return scores.filter(({ judge_run_id: judge }) => judge !== undefined).length === count
          ? scores
          : undefined;
      },
      { what: `the dispatch of ${String(count)} scorers` },
    );
  }

  report(key: string, runId: string, results: unknown): Promise<Answer> {
    return call(
      `${this.server.url}/v1/agent/runs/${runId}/scores`,
      'POST',
      { results },
      {
        Authorization: `Bearer ${key}`,
      },
    );
  }

  private async create(path: string, body: object): Promise<Record<string, unknown>> {
    const answer = await this.call('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path} was refused: ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, unknown>;
  }
}

/** Takes the next run off the queue and is at work on it. */
export async function takeRun(worker: SimulatedWorker): Promise<SimulatedRunner> {
  const assignment = await worker.nextAssignment();
  worker.claim(assignment);
  const runner = worker.runner(assignment);
  await runner.begin();
  return runner;
}

/** Stores the lines as the transcript of the run. */
export async function saveTranscript(runner: SimulatedRunner, lines: string): Promise<void> {
  const opened = await runner.call('POST', 'harness-support/external-conversation', {
    format: 'millwright_script',
  });
  const target = await runner.call('POST', 'harness-support/transcript', opened.body);
  const { url, headers } = target.body as { url: string; headers: Record<string, string> | null };
  const { status } = await fetch(url, { method: 'PUT', headers: headers ?? {}, body: lines });
  if (status >= 300) throw new Error(`the transcript was refused: ${String(status)}`);
}

/** Has the agent execute a run to its end. @returns the run's id */
export async function endedRun(
  team: ScoringTeam,
  worker: SimulatedWorker,
  agentUid: string,
  request: object = {},
): Promise<string> {
  const runId = await team.runs.create({ agent_identity_uid: agentUid, ...request });
  const runner = await takeRun(worker);
  if (runner.assignment.task_id !== runId) throw new Error('another run was in the queue before');
  await runner.finish(true);
  await runner.shutDown();
  return runId;
}
