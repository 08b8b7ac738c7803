import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { LineSplitter } from './line-splitter.js';
import { killGroup, signalGroup } from './process-group.js';
import type { WorkerLogger } from './worker-logger.js';

const STOP_GRACE_MS = 2_000;
const GROUP_END_LIMIT_MS = 2_000;

export interface RunnerLaunch {
  /** Path of the runner's program. */
  program: string;
  workspace: string;
  environment: Record<string, string>;
  logger: WorkerLogger;
}

export type RunnerEnd =
  | {
      kind: 'exited';
      code: number | null;
      signal: NodeJS.Signals | null;
      /** What the runner said last; empty when it said nothing. */
      lastWords: string;
    }
  | { kind: 'not_started'; reason: string };

/**
 * A runner in a process group of its own. `ended` resolves when no process of the group is left; should some resist
 * being killed for two seconds, they are logged and given up.
 */
export class RunnerProcess {
  readonly ended: Promise<RunnerEnd>;
  readonly pid: number | undefined;
  private readonly terminate: () => void;
  private killTimer: NodeJS.Timeout | undefined;

  constructor({ program, workspace, environment, logger }: RunnerLaunch) {
    const child = spawn(process.execPath, [program], {
      cwd: workspace,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.pid = child.pid;
    this.terminate = () => void child.kill('SIGTERM');

    let lastWords = '';
    logLines(child.stdout, (line) => logger.info({ runner: child.pid, line }, 'Runner output'));
    logLines(child.stderr, (line) => {
      lastWords = line;
      logger.info({ runner: child.pid, line }, 'Runner output');
    });

    this.ended = new Promise<RunnerEnd>((resolve) => {
      child.on('error', (error) => resolve({ kind: 'not_started', reason: error.message }));
      child.once('exit', (code, signal) => resolve({ kind: 'exited', code, signal, lastWords }));
    }).then(async (end) => {
      clearTimeout(this.killTimer);
      const groupEnded = child.pid === undefined || (await killGroup(child.pid, GROUP_END_LIMIT_MS));
      if (!groupEnded) logger.warn({ runner: child.pid }, 'Processes of a run are left after SIGKILL');
      return end;
    });
  }

  /**
   * Asks the runner to end, and kills its group two seconds later. Only the runner gets the first signal: would its
   * commands get it too, it might still report them as failed by themselves.
   */
  stop(): void {
    const { pid } = this;
    if (pid === undefined || this.killTimer !== undefined) return;
    this.terminate();
    this.killTimer = setTimeout(() => signalGroup(pid, 'SIGKILL'), STOP_GRACE_MS);
  }
}

function logLines(stream: Readable, onLine: (line: string) => void): void {
  const lines = new LineSplitter(onLine);
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => lines.push(text));
  stream.on('end', () => lines.end());
}
