import { writeFileSync } from 'node:fs';
import { mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { identifyProcess, isAlive, type ProcessIdentity } from './process-identity.js';
import type { WorkerLogger } from './worker-logger.js';

const RECORD_SUFFIX = '.runner.json';

const processIdentity = z.object({ pid: z.int().positive(), startTime: z.string() });

export interface Workspace {
  path: string;
  /** Never throws. */
  recordRunner(pid: number): void;
  /** Never rejects. */
  remove(): Promise<void>;
}

/**
 * The directories in which runners work: `<root>/<run>-<execution>`. Beside each lies a record of who uses it,
 * `<root>/.<run>-<execution>.runner.json`: this worker at first, then the runner. A runner outlives its worker, so a worker
 * that starts anew removes what its predecessor left, except under runners that are still at work. What has no record is
 * none of ours and stays.
 */
export class Workspaces {
  /** Names in use by this process. */
  private readonly held = new Set<string>();

  constructor(
    private readonly root: string,
    private readonly logger: WorkerLogger,
  ) {}

  /** Makes an empty directory that only this user can enter. The ids must be path-safe. Rejects when it exists. */
  async create(runId: string, executionId: string): Promise<Workspace> {
    const name = `${runId}-${executionId}`;
    const path = join(this.root, name);
    await mkdir(this.root, { recursive: true, mode: 0o700 });
    await mkdir(path, { mode: 0o700 });
    this.held.add(name);
    this.record(name, process.pid);
    return {
      path,
      recordRunner: (pid) => this.record(name, pid),
      remove: async () => {
        await this.remove(name);
        this.held.delete(name);
      },
    };
  }

  /** Removes what an earlier process left where nobody works any more. Never rejects. */
  async removeAbandoned(): Promise<void> {
    for (const name of await this.recorded()) {
      const user = await this.recordedUser(name);
      // Asked again right before: an execution may have started in the meantime.
      if (this.held.has(name)) continue;
      if (user !== undefined && isAlive(user)) {
        this.logger.info(
          { workspace: name, pid: user.pid },
          'A runner of an earlier worker is still at work',
        );
      } else {
        await this.remove(name);
      }
    }
  }

  private async recorded(): Promise<string[]> {
    const entries = await readdir(this.root).catch(() => []);
    return entries
      .filter((entry) => entry.startsWith('.') && entry.endsWith(RECORD_SUFFIX))
      .map((entry) => entry.slice(1, -RECORD_SUFFIX.length));
  }

  /** Synchronous: the less time passes after a launch, the less likely a crash leaves a runner unrecorded. */
  private record(name: string, pid: number): void {
    const identity = identifyProcess(pid);
    if (identity === undefined) return;
    try {
      writeFileSync(this.recordPath(name), JSON.stringify(identity), { mode: 0o600 });
    } catch (error) {
      this.logger.warn({ err: error, workspace: name }, 'Record of a workspace could not be written');
    }
  }

  private async recordedUser(name: string): Promise<ProcessIdentity | undefined> {
    try {
      return processIdentity.parse(JSON.parse(await readFile(this.recordPath(name), 'utf8')));
    } catch {
      return undefined;
    }
  }

  private async remove(name: string): Promise<void> {
    try {
      await rm(join(this.root, name), { recursive: true, force: true, maxRetries: 3 });
      await rm(this.recordPath(name), { force: true });
    } catch (error) {
      this.logger.warn({ err: error, workspace: name }, 'Workspace could not be removed');
    }
  }

  private recordPath(name: string): string {
    return join(this.root, `.${name}${RECORD_SUFFIX}`);
  }
}
