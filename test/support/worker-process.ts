import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ADMIN_KEY } from './test-app.js';

const ROOT = new URL('../..', import.meta.url).pathname;

/** The real worker in a process that can be killed, with the real runner. */
export class WorkerProcess {
  private runners = new Set<number>();

  private constructor(
    private readonly child: ChildProcess,
    private readonly home: string,
  ) {}

  /** @param url where it and its runners reach the service */
  static async start(url: string): Promise<WorkerProcess> {
    const home = await mkdtemp(join(tmpdir(), 'millwright-test-'));
    const { PATH = '/usr/bin:/bin' } = process.env;
    const options = {
      url,
      workerId: 'real',
      slots: 1,
      workspaceRoot: join(home, 'workspaces'),
      runnerPath: join(ROOT, 'dist/execution/runner/main.js'),
      hostEnvironment: { HOME: home, PATH, TMPDIR: home },
      redialCapMs: 100,
    };
    const script = join(ROOT, 'test/support/worker-program.mjs');
    const child = spawn(process.execPath, [script, JSON.stringify(options)], {
      env: { PATH, WORKER_KEY: ADMIN_KEY },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    return new WorkerProcess(child, home);
  }

  /** `kill -9` of the worker alone: its runners live on. */
  async kill(): Promise<void> {
    await this.findRunners();
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }

  /** `kill -9` of the runners with all of their processes. @returns how many there were */
  async killRunners(): Promise<number> {
    await this.findRunners();
    let killed = 0;
    for (const group of this.runners) {
      try {
        process.kill(-group, 'SIGKILL');
        killed += 1;
      } catch {
        // It has ended.
      }
    }
    return killed;
  }

  /** Leaves no process and no file. */
  async remove(): Promise<void> {
    await this.kill();
    await this.killRunners();
    await rm(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Each leads a process group. Once the worker is dead they are no longer its children. */
  private async findRunners(): Promise<void> {
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,pgid=']);
    for (const line of stdout.trim().split('\n')) {
      const [pid, parent, group] = line.trim().split(/\s+/).map(Number);
      if (parent === this.child.pid && pid !== undefined && pid === group) this.runners.add(pid);
    }
  }
}
