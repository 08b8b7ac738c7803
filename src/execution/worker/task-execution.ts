import type { WorkerMessage } from '../protocol/worker-messages.js';
import { reportOf, type ExecutionEnd, type StopCause } from './execution-report.js';
import { RunnerProcess } from './runner-process.js';
import type { LaunchOrder } from './server-message.js';
import type { WorkerLogger } from './worker-logger.js';
import type { Workspace, Workspaces } from './workspaces.js';

export interface TaskSurroundings {
  workspaces: Workspaces;
  runnerPath: string;
  /** What every runner gets of the machine: HOME, PATH, TMPDIR, LANG. */
  hostEnvironment: Record<string, string>;
  serverUrl: string;
  logger: WorkerLogger;
}

/** One execution from its claim to the end of its last process. */
export class TaskExecution {
  /** The message that closes the execution. Never rejects. */
  readonly report: Promise<WorkerMessage>;
  private stopCause: StopCause | undefined;
  private runner: RunnerProcess | undefined;

  constructor(
    readonly order: LaunchOrder,
    private readonly surroundings: TaskSurroundings,
  ) {
    const { task_id, execution_id } = order;
    this.report = this.perform().then((end) => reportOf({ task_id, execution_id }, end, this.stopCause));
  }

  /** The first cause counts. Everything is gone within five seconds. */
  stop(cause: StopCause): void {
    this.stopCause ??= cause;
    this.runner?.stop();
  }

  private async perform(): Promise<ExecutionEnd> {
    let workspace: Workspace;
    try {
      workspace = await this.surroundings.workspaces.create(this.order.task_id, this.order.execution_id);
    } catch (error) {
      return { kind: 'no_workspace', reason: messageOf(error) };
    }
    try {
      return await this.runIn(workspace);
    } catch (error) {
      return { kind: 'not_started', reason: messageOf(error) };
    } finally {
      await workspace.remove();
    }
  }

  private async runIn(workspace: Workspace): Promise<ExecutionEnd> {
    if (this.stopCause !== undefined) return { kind: 'not_started', reason: 'it was stopped before' };
    const { runnerPath, logger } = this.surroundings;
    this.runner = new RunnerProcess({
      program: runnerPath,
      workspace: workspace.path,
      environment: this.runnerEnvironment(),
      logger,
    });
    if (this.runner.pid !== undefined) workspace.recordRunner(this.runner.pid);
    return this.runner.ended;
  }

  private runnerEnvironment(): Record<string, string> {
    return {
      ...this.surroundings.hostEnvironment,
      ...this.order.env_vars,
      TASK_ID: this.order.task_id,
      GIT_TERMINAL_PROMPT: '0',
      WARP_SERVER_ROOT_URL: this.surroundings.serverUrl,
    };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
