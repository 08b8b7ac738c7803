import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { ExecutionView } from '../protocol/harness-support.js';
import { runBash } from './bash-command.js';
import type { ControlPlane } from './control-plane.js';
import { ARTIFACTS_DIR } from './declared-files.js';
import { stallMessage } from './stall-watch.js';

export type SetUp = {
  /** Added to the environment of the agent's commands. */
  environment: Record<string, string>;
} & (
  | {
      kind: 'ready';
      /** What the agent is told of its workspace. */
      context?: string;
    }
  | { kind: 'failed'; message: string }
);

type Environment = NonNullable<ExecutionView['environment']>;
type Attachment = ExecutionView['attachments'][number];

/** Under the workspace; no repository's name begins with a dot and the project's. */
const ATTACHMENTS_DIR = '.millwright/attachments';
const OUTPUT_CAP_BYTES = 64 * 1024;
const QUOTED_OUTPUT_CHARACTERS = 2_000;

/**
 * The addresses stand in the environment: an argument list can be read by every user of the machine. It tells its progress, so that a
 * long one is not taken for a stalled one.
 */
const CLONE = 'git clone --progress --depth 1 -- "$MILLWRIGHT_CLONE_URL" "$MILLWRIGHT_CLONE_DIR"';

/**
 * Makes the current directory what the agent is to find: the run's files, the environment's repositories, and whatever its set-up commands
 * leave. The first thing that fails ends it, with a message for whoever has to put it right.
 *
 * @param ofHarness variables that tell commands where the agent keeps its settings
 */
export async function setUpWorkspace(
  view: ExecutionView,
  ofHarness: Record<string, string>,
  controlPlane: ControlPlane,
): Promise<SetUp> {
  if (view.environment_missing) {
    return {
      kind: 'failed',
      environment: { ...ofHarness, ...view.secrets },
      message: 'The environment of the run has been deleted',
    };
  }
  const { environment, secrets, stall_minutes: stallMinutes } = view;
  const commandEnvironment = {
    ...ofHarness,
    ...secrets,
    ...(environment && gitCredentials(environment)),
    MILLWRIGHT_ATTACHMENTS_DIR: join(process.cwd(), ATTACHMENTS_DIR),
    MILLWRIGHT_ARTIFACTS_DIR: join(process.cwd(), ARTIFACTS_DIR),
  };
  await mkdir(ARTIFACTS_DIR, { recursive: true });
  const names = await saveAttachments(view.attachments, controlPlane);
  const context =
    names.length === 0 ? undefined : `Files of this run, in ${ATTACHMENTS_DIR}: ${names.join(', ')}`;
  const ready: SetUp = { kind: 'ready', environment: commandEnvironment, context };
  if (environment === undefined) return ready;

  const { repositories, setup_commands: commands } = environment;
  const message =
    (await timed('setup_environment_repo_clone', repositories, controlPlane, () =>
      cloneAll(environment, commandEnvironment, stallMinutes),
    )) ??
    (await timed('setup_environment_setup_commands', commands, controlPlane, () =>
      executeAll(commands, commandEnvironment, stallMinutes),
    ));
  return message === undefined ? ready : { kind: 'failed', environment: commandEnvironment, message };
}

/** Values of the set-up that nothing which leaves the machine may show. */
export function setUpSecrets({ secrets, environment }: ExecutionView): string[] {
  const token = environment?.git_token;
  return [...Object.values(secrets), ...(token === undefined ? [] : [token, basicCredentials(token)])];
}

/** A step of the set-up, if there is anything to do, and its event on the timeline. */
async function timed(
  eventName: string,
  work: unknown[],
  controlPlane: ControlPlane,
  step: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (work.length === 0) return undefined;
  const startedAt = new Date();
  const message = await step();
  const finishedAt = new Date();
  await controlPlane.reportClientEvent({
    event_uuid: randomUUID(),
    event_name: eventName,
    timestamp: finishedAt.toISOString(),
    payload: {
      start_ts: startedAt.toISOString(),
      finish_ts: finishedAt.toISOString(),
      latency_ms: finishedAt.getTime() - startedAt.getTime(),
      is_error: message !== undefined,
    },
  });
  return message;
}

/** @returns the names of the files: where two have the same, the later one gets a number */
async function saveAttachments(attachments: Attachment[], controlPlane: ControlPlane): Promise<string[]> {
  if (attachments.length > 0) await mkdir(ATTACHMENTS_DIR, { recursive: true });
  const names: string[] = [];
  for (const { file_name: fileName, download_url: url } of attachments) {
    const name = freeName(fileName, names);
    await writeFile(join(ATTACHMENTS_DIR, name), await controlPlane.download(url), { flag: 'wx' });
    names.push(name);
  }
  return names;
}

function freeName(fileName: string, taken: string[]): string {
  const extension = extname(fileName);
  const stem = fileName.slice(0, fileName.length - extension.length);
  let name = fileName;
  for (let number = 2; taken.includes(name); number += 1) name = `${stem}-${number}${extension}`;
  return name;
}

async function cloneAll(
  { repositories, git_base_url: baseUrl }: Environment,
  commandEnvironment: Record<string, string>,
  stallMinutes: number,
): Promise<string | undefined> {
  const taken: string[] = [];
  for (const { owner, repo } of repositories) {
    const directory = taken.includes(repo) ? `${owner}-${repo}` : repo;
    taken.push(directory);
    const cloneEnvironment = {
      ...commandEnvironment,
      GIT_TERMINAL_PROMPT: '0',
      MILLWRIGHT_CLONE_URL: `${baseUrl}/${owner}/${repo}`,
      MILLWRIGHT_CLONE_DIR: directory,
    };
    const failure = await execute(CLONE, cloneEnvironment, stallMinutes);
    if (failure !== undefined) return `The repository ${owner}/${repo} could not be cloned: ${failure}`;
  }
  return undefined;
}

async function executeAll(
  commands: string[],
  commandEnvironment: Record<string, string>,
  stallMinutes: number,
): Promise<string | undefined> {
  for (const [index, command] of commands.entries()) {
    const failure = await execute(command, commandEnvironment, stallMinutes);
    if (failure !== undefined) {
      return `Set-up command ${index + 1} of ${commands.length} failed: ${command}\n${failure}`;
    }
  }
  return undefined;
}

/** @returns undefined when it succeeded, else how it ended and the end of its output */
async function execute(
  script: string,
  environment: Record<string, string>,
  stallMinutes: number,
): Promise<string | undefined> {
  const result = await runBash(
    { script, name: 'set-up', environment, outputCapBytes: OUTPUT_CAP_BYTES, stallMinutes },
    () => undefined,
  );
  if (result.kind === 'bash_not_found') return 'the machine of this worker has no bash in its PATH';
  if (result.exitCode === 0) return undefined;
  const how = result.kind === 'stalled' ? stallMessage('it', stallMinutes) : `exit code ${result.exitCode}`;
  const end = lastStates(result.output.text).trimEnd().slice(-QUOTED_OUTPUT_CHARACTERS);
  return [how, end].filter(Boolean).join('\n');
}

/** Of lines that overwrite themselves to tell progress, what stands there in the end. */
function lastStates(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(/^.*\r/gm, '');
}

/** Git sends the token to the host of the repositories and to no other; it is in no file and no argument. */
function gitCredentials({
  git_base_url: baseUrl,
  git_token: token,
}: Environment): Record<string, string> | undefined {
  if (token === undefined || !baseUrl.startsWith('http')) return undefined;
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${baseUrl}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basicCredentials(token)}`,
  };
}

const basicCredentials = (token: string): string => Buffer.from(`x-access-token:${token}`).toString('base64');
