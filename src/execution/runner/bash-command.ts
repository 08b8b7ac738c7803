import { spawn, type ChildProcess } from 'node:child_process';
import { type Readable, Writable } from 'node:stream';
import { CappedOutput, type CapturedOutput } from './capped-output.js';
import { drain } from './drain.js';
import { closeWriteEnd, openOutputPipe } from './output-pipe.js';
import { exitStatus } from './process-group.js';
import { agentEnvironment } from './runner-environment.js';
import { StallWatch } from './stall-watch.js';

export interface BashCommand {
  script: string;
  /** Stands where bash names the script in its error messages. */
  name: string;
  /** Added to the runner's own. */
  environment: Record<string, string>;
  outputCapBytes: number;
  /** A script that prints nothing for this long is killed; 0 = never. */
  stallMinutes: number;
}

export type BashResult =
  | {
      kind: 'exited' | 'stalled';
      /** 128 + n when signal n ended it. */
      exitCode: number;
      output: CapturedOutput;
    }
  | { kind: 'bash_not_found' };

/**
 * Takes the script from descriptor 3 and closes that: it is in no argument, where every user of the machine could read
 * it, and in no file that somebody would have to remove.
 */
const WRAPPER = `eval "exec 3<&-; $(cat <&3)"$'\\n'`;

/**
 * Runs a script with bash in the current directory, with the runner's environment and an empty standard input. Resolves
 * when bash itself has ended: what it left in the background goes on, and its later output is thrown away. One that stalls is
 * killed with all of that.
 *
 * `onStarted` is called once bash runs. Rejects when a process cannot be started for another reason than a missing bash.
 */
export async function runBash(command: BashCommand, onStarted: () => void): Promise<BashResult> {
  const pipe = await openOutputPipe();
  const captured = new CappedOutput(command.outputCapBytes);
  const capture = (chunk: Buffer): void => captured.append(chunk);
  pipe.readEnd.on('data', capture);
  pipe.readEnd.on('error', () => undefined);

  const child = spawn('bash', ['--noprofile', '--norc', '-c', WRAPPER, command.name], {
    env: agentEnvironment(command.environment),
    stdio: ['ignore', pipe.writeEnd, pipe.writeEnd, 'pipe'],
  });
  closeWriteEnd(pipe);
  child.once('spawn', onStarted);
  writeScript(child, command.script);

  const end = await endOf(child, pipe.readEnd, command.stallMinutes);
  if (end === undefined) return { kind: 'bash_not_found' };
  await drain(pipe.readEnd);
  pipe.readEnd.off('data', capture);
  // Closing the pipe instead would end background processes when they next write to it.
  pipe.readEnd.resume();
  return { ...end, output: captured.finish() };
}

function writeScript(child: ChildProcess, script: string): void {
  const input = child.stdio[3];
  if (!(input instanceof Writable)) return;
  // A bash that ended early does not read; its exit status tells.
  input.on('error', () => undefined);
  input.end(script);
}

/** @returns undefined when there is no bash */
function endOf(
  child: ChildProcess,
  output: Readable,
  stallMinutes: number,
): Promise<{ kind: 'exited' | 'stalled'; exitCode: number } | undefined> {
  return new Promise((resolve, reject) => {
    const killed = exitStatus(null, 'SIGKILL');
    const stall = new StallWatch(stallMinutes, () => resolve({ kind: 'stalled', exitCode: killed }));
    output.on('data', () => stall.heard());
    child.once('exit', (code, signal) => {
      stall.end();
      resolve({ kind: 'exited', exitCode: exitStatus(code, signal) });
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      stall.end();
      if (error.code === 'ENOENT') resolve(undefined);
      else reject(error);
    });
  });
}
