/**
 * The worker protocol: text frames on the websocket at `/v1/selfhosted/worker/ws?worker_id=<id>`, one JSON object each,
 * `{"type": …, "data": {…}}`. Either side ignores types and fields that it does not know.
 */

/** What a worker needs to launch one execution of a run. Secrets travel in `env_vars` alone, never in an argument. */
export interface TaskAssignment {
  /** The run's id. */
  task_id: string;
  /** New for every launch, also when the same run is assigned again after a rejection: it is the fence. */
  execution_id: string;
  task: {
    id: string;
    title: string;
    task_definition: { prompt: string };
    /** RFC 3339. */
    created_at: string;
    updated_at: string;
    agent_config_snapshot?: Record<string, unknown>;
    agent_conversation_id?: string;
  };
  /** Environment of the runner: the run's own key, the run's id and the workload token. */
  env_vars: Record<string, string>;
}

/** Without `execution_id`: every execution of the run that the worker holds. */
export interface TaskCancellation {
  task_id: string;
  execution_id?: string;
}

export type ServerMessage =
  { type: 'task_assignment'; data: TaskAssignment } | { type: 'task_cancellation'; data: TaskCancellation };

/** Older revisions of the protocol name no execution; the run and the worker then decide which one is meant. */
export interface TaskReference {
  task_id: string;
  execution_id?: string;
}

export type TaskClaimed = TaskReference & { worker_id: string };
export type TaskRejected = TaskReference & { reason: string };
/** `task_state` is `CANCELLED` when the execution ended because of a `task_cancellation`. */
export type TaskCompleted = TaskReference & { message: string; task_state?: string };
export type TaskFailed = TaskReference & {
  message: string;
  task_state?: string;
  failure_reason?: string;
  /** Exit status of the runner; 128 + n for signal n; absent when 0. */
  exit_code?: number;
};

export type WorkerMessage =
  | { type: 'task_claimed'; data: TaskClaimed }
  | { type: 'task_rejected'; data: TaskRejected }
  | { type: 'task_completed'; data: TaskCompleted }
  | { type: 'task_failed'; data: TaskFailed };
