import { ADMIN_KEY, type Answer, eventually, type TestApp } from './test-app.js';

/** A run as the API shows it, as far as tests read it. */
export interface Run {
  run_id: string;
  title: string;
  state: string;
  prompt: string;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  status_message?: { message: string; error_code?: string; retryable?: boolean };
  is_sandbox_running: boolean;
  scope: { type: string; uid?: string };
}

export interface TimelineEvent {
  event_uuid: string;
  run_id: string;
  execution_id?: number;
  event_type: string;
  occurred_at: string;
  payload?: Record<string, unknown>;
}

/** The runs API as a caller uses it: as the admin, or with the headers of somebody else. */
export class RunsClient {
  constructor(
    private readonly server: Pick<TestApp, 'call'>,
    private readonly headers: Record<string, string> = { Authorization: `Bearer ${ADMIN_KEY}` },
  ) {}

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.server.call(method, `/v1/agent/${path}`, body, this.headers);
  }

  /** @returns the run's id */
  async create(request: object = {}): Promise<string> {
    const answer = await this.call('POST', 'runs', { prompt: 'Do something', ...request });
    if (answer.status !== 200) throw new Error(`no run was created: ${JSON.stringify(answer.body)}`);
    return (answer.body as { run_id: string }).run_id;
  }

  async read(runId: string): Promise<Run> {
    const answer = await this.call('GET', `runs/${runId}`);
    if (answer.status !== 200) throw new Error(`no run was read: ${JSON.stringify(answer.body)}`);
    return answer.body as Run;
  }

  async timeline(runId: string): Promise<TimelineEvent[]> {
    const { body } = await this.call('GET', `runs/${runId}/timeline`);
    return (body as { events: TimelineEvent[] }).events;
  }

  async eventTypes(runId: string): Promise<string[]> {
    return (await this.timeline(runId)).map((event) => event.event_type);
  }

  cancel(runId: string): Promise<Answer> {
    return this.call('POST', `runs/${runId}/cancel`);
  }

  async list(
    query = '',
  ): Promise<{ runs: Run[]; page_info: { has_next_page: boolean; next_cursor?: string } }> {
    const answer = await this.call('GET', `runs?${query}`);
    if (answer.status !== 200) throw new Error(`no list was read: ${JSON.stringify(answer.body)}`);
    return answer.body as Awaited<ReturnType<RunsClient['list']>>;
  }

  /** Waits until the run is as it should be. */
  until(runId: string, is: (run: Run) => boolean, what = 'what was expected of the run'): Promise<Run> {
    return eventually(
      async () => {
        const run = await this.read(runId);
        return is(run) ? run : undefined;
      },
      { what },
    );
  }

  untilState(runId: string, state: string): Promise<Run> {
    return this.until(runId, (run) => run.state === state, `the state ${state}`);
  }

  /** Waits until the event is on the timeline. */
  untilEvent(runId: string, eventType: string): Promise<TimelineEvent> {
    return eventually(
      async () => (await this.timeline(runId)).find((event) => event.event_type === eventType),
      { what: `the event ${eventType}` },
    );
  }
}
