import { spawn } from 'node:child_process';
import { drain } from '../drain.js';
import { CappedOutput } from '../capped-output.js';
import { exitStatus } from '../process-group.js';
import { StallWatch } from '../stall-watch.js';
import { ByteLines, type LineSink } from './byte-lines.js';

const SECOND = 1000;
const MIB = 1024 * 1024;
const LINE_CAP_BYTES = 16 * MIB;
const ERROR_OUTPUT_CAP_BYTES = 16 * 1024;
/** How long a CLI that has said how its turn went may take to end. */
const LEAVE_MS = 5 * SECOND;

export interface CliCommand {
  command: string;
  arguments: string[];
  /** Whole: nothing is added to it. */
  environment: NodeJS.ProcessEnv;
  /** A CLI that prints nothing for this long is killed; 0 = never. */
  stallMinutes: number;
}

export type CliEnd =
  | {
      kind: 'exited';
      /** 128 + n when signal n ended it. */
      exitCode: number;
      /** The end of its error output. */
      lastWords: string;
    }
  | { kind: 'not_found' }
  /** Its end is not waited for. */
  | { kind: 'stalled' };

/** A command line agent at work in the current directory. */
export class CliProcess {
  /** Rejects when it cannot be started for another reason than that it is missing. */
  readonly ended: Promise<CliEnd>;
  private readonly child;
  private inputEnds = false;
  private leaving = false;

  constructor({ command, arguments: args, environment, stallMinutes }: CliCommand, sink: LineSink) {
    this.child = spawn(command, args, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
    const { child } = this;
    // One that ended early does not read; its exit tells.
    child.stdin.on('error', () => undefined);
    const errors = new CappedOutput(ERROR_OUTPUT_CAP_BYTES);
    child.stderr.on('data', (chunk: Buffer) => errors.append(chunk));
    const lines = new ByteLines(sink, LINE_CAP_BYTES);

    this.ended = new Promise<CliEnd>((resolve, reject) => {
      const stall = new StallWatch(stallMinutes, () => resolve({ kind: 'stalled' }));
      child.stdout.on('data', (chunk: Buffer) => {
        stall.heard();
        lines.push(chunk);
      });
      child.once('error', (error: NodeJS.ErrnoException) => {
        stall.end();
        if (error.code === 'ENOENT') resolve({ kind: 'not_found' });
        else reject(error);
      });
      child.once('exit', (code, signal) => {
        stall.end();
        // What it left in the background may hold its outputs open.
        void Promise.all([drain(child.stdout), drain(child.stderr)]).then(() => {
          lines.end();
          const lastWords = errors.finish().text.trimEnd();
          resolve({ kind: 'exited', exitCode: exitStatus(code, signal), lastWords });
        });
      });
    });
  }

  /** False when it takes nothing any more. */
  write(text: string): boolean {
    if (this.inputEnds) return false;
    this.child.stdin.write(text);
    return true;
  }

  endInput(): void {
    if (this.inputEnds) return;
    this.inputEnds = true;
    this.child.stdin.end();
  }

  /** It has nothing more to do: it gets five seconds to end. */
  leave(): void {
    this.endInput();
    if (this.leaving) return;
    this.leaving = true;
    const kill = setTimeout(() => this.child.kill('SIGKILL'), LEAVE_MS);
    this.child.once('exit', () => clearTimeout(kill));
  }
}
