import { spawn } from 'node:child_process';
import { devNull } from 'node:os';
import { hostEnvironment } from '../../config/host-environment.js';

/** Git has failed or was ended; the message is safe to log. */
export class GitError extends Error {}

export interface GitCommand {
  /** Each an argument of its own; there is no shell. */
  args: string[];
  /** Settings for this command. They go by the environment, so that a secret among them is in no list of processes. */
  settings: [name: string, value: string][];
  /** Schemes that git may use, such as `https`. */
  protocols: string[];
  input?: string;
  /** Called with what git prints, as it comes. */
  onOutput?: (chunk: Buffer) => void;
  /** Ends git and whatever it has started. */
  signal: AbortSignal;
}

const MAX_ERROR_TEXT = 1000;

/**
 * Runs git with nothing of this process's environment but PATH: no configuration of the machine or of its user, no credential
 * helper, no prompt.
 *
 * @throws GitError when it cannot be started, fails or is ended by the signal; by then nothing of it runs any more
 */
export async function runGit(command: GitCommand): Promise<void> {
  const { signal } = command;
  if (hasEnded(signal)) throw new GitError(abortReason(signal));
  const child = spawn('git', command.args, {
    env: environmentOf(command),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A process group of its own: git leaves the transfer to children, which would outlive it.
    detached: true,
  });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  };
  signal.addEventListener('abort', kill, { once: true });
  let errorText = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (errorText.length < MAX_ERROR_TEXT) errorText += chunk.toString('utf8');
  });
  child.stdout.on('data', (chunk: Buffer) => command.onOutput?.(chunk));
  // Git may end without reading all of its input; its exit code says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(command.input ?? '');
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    // It may have done its work before it was ended.
    if (code !== 0 && hasEnded(signal)) throw new GitError(abortReason(signal));
    if (code !== 0) throw new GitError(firstLine(errorText) || `git ended with code ${String(code)}`);
  } catch (error) {
    if (error instanceof GitError) throw error;
    throw new GitError(messageOf(error), { cause: error });
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

function environmentOf({ settings, protocols }: GitCommand): Record<string, string> {
  const all: [string, string][] = [
    ...settings,
    // No background job: it would work on the files after this command, unlocked.
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
  ];
  return {
    PATH: hostEnvironment().PATH,
    HOME: devNull,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    GIT_ALLOW_PROTOCOL: protocols.join(':'),
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(
      all.flatMap(([name, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, name],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

/** A function, since the compiler believes that what it has seen to be false stays so. */
const hasEnded = (signal: AbortSignal): boolean => signal.aborted;

const abortReason = (signal: AbortSignal): string => `git was ended: ${messageOf(signal.reason)}`;

const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);

/** What went wrong, without credentials that the configured base may carry. */
const firstLine = (text: string): string =>
  (text.split('\n').find((line) => /^(fatal|error):/.test(line)) ?? text.split('\n')[0] ?? '')
    .replace(/\/\/[^/@\s]*@/g, '//')
    .slice(0, 300);
