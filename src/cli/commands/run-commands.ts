import { type Command, Option } from 'commander';
import { readFile } from 'node:fs/promises';
import type { Conversation, CreatedRun, Run, RunList, Timeline } from '../answers.js';
import { path } from '../api-client.js';
import { EXIT, FailedError, UsageError } from '../errors.js';
import type { Session } from '../session.js';
import { conversationText, createdRunText, runListText, runText, timelineText } from '../text/run-text.js';
import { waitForRun } from '../wait-for-run.js';

interface CreateOptions {
  prompt?: string;
  promptFile?: string;
  skill?: string;
  title?: string;
  agent?: string;
  environment?: string;
  model?: string;
  wait?: true;
  timeout: number;
}

const MINUTE = 60_000;
const DEFAULT_TIMEOUT_MINUTES = 60;
/** A day: longer than a run may take by default. */
const MAX_TIMEOUT_MINUTES = 1440;

export function addRunCommands(program: Command, session: Session): void {
  const run = program.command('run').description('start runs and read what happened to them');

  run
    .command('create')
    .description('start a run; its id is the first thing that you see')
    .addOption(new Option('--prompt <text>', 'what the agent is to do').conflicts('promptFile'))
    .option('--prompt-file <file>', 'a file with the prompt; - for standard input')
    .option('--skill <spec>', 'the skill to carry out, such as owner/repo:name')
    .option('--title <title>', 'by default the first line of the prompt')
    .option('--agent <uid>', 'the agent identity to run as')
    .option('--environment <uid>', 'the environment to run in')
    .option('--model <id>', 'the model to run on')
    .option('--wait', 'wait for the end; the exit code is 0 only when the run has succeeded')
    .option('--timeout <minutes>', 'how long to wait at most', toMinutes, DEFAULT_TIMEOUT_MINUTES)
    .action((options: CreateOptions) => createRun(session, options));

  run
    .command('list')
    .description('list runs, the latest change first')
    .option('--limit <count>', 'how many at most, 1 to 500', '20')
    .action(async ({ limit }: { limit: string }) => {
      const query = new URLSearchParams({ limit });
      const answer = await session.api.call<RunList>('GET', `/agent/runs?${query.toString()}`);
      await session.show(answer, runListText);
      if (answer.body.page_info.has_next_page) session.remark('There are more runs: see --limit.');
    });

  run
    .command('get <id>')
    .description('show a run')
    .action((id: string) => session.show(session.api.call<Run>('GET', path`/agent/runs/${id}`), runText));

  run
    .command('cancel <id>')
    .description('cancel a run that is queued or working')
    .action((id: string) =>
      session.show(
        session.api.call<string>('POST', path`/agent/runs/${id}/cancel`),
        (runId) => `${runId} is cancelled`,
      ),
    );

  run
    .command('logs <id>')
    .description('show what the agent said and did')
    .action((id: string) =>
      session.show(
        session.api.call<Conversation>('GET', path`/agent/runs/${id}/conversation`),
        conversationText,
      ),
    );

  run
    .command('timeline <id>')
    .description('show the events of a run')
    .action((id: string) =>
      session.show(session.api.call<Timeline>('GET', path`/agent/runs/${id}/timeline`), timelineText),
    );
}

async function createRun(session: Session, options: CreateOptions): Promise<void> {
  const prompt = await promptOf(session, options);
  if (prompt === undefined && options.skill === undefined) {
    throw new UsageError('A run needs --prompt, --prompt-file or --skill.');
  }
  const created = await session.api.call<CreatedRun>('POST', '/agent/runs', {
    prompt,
    skill: options.skill,
    title: options.title,
    agent_identity_uid: options.agent,
    config: configOf(options),
  });
  if (options.wait === undefined) {
    await session.show(created, createdRunText);
    return;
  }
  const runId = created.body.run_id;
  session.terminal.say(`run ${runId}`);
  const ended = await untilEnd(session, runId, options.timeout);
  await session.show(ended, runText);
  if (ended.body.state !== 'SUCCEEDED') throw new FailedError(`The run ended as ${ended.body.state}.`);
}

/** Ctrl-C ends the waiting, and not the run. */
async function untilEnd(session: Session, runId: string, timeoutMinutes: number) {
  const leave = (): void => {
    session.terminal.say(
      `No longer waiting. The run goes on: millwright run get ${runId}, millwright run cancel ${runId}`,
    );
    process.exit(EXIT.interrupted);
  };
  process.once('SIGINT', leave);
  try {
    return await waitForRun(() => session.api.call<Run>('GET', path`/agent/runs/${runId}`), {
      timeoutMs: timeoutMinutes * MINUTE,
      onState: (state) => session.remark(state),
    });
  } finally {
    process.off('SIGINT', leave);
  }
}

async function promptOf(session: Session, options: CreateOptions): Promise<string | undefined> {
  if (options.promptFile === undefined) return options.prompt;
  if (options.promptFile === '-') return session.terminal.readInput();
  try {
    return await readFile(options.promptFile, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new UsageError(`The file of --prompt-file cannot be read (${code}).`, { cause });
  }
}

function configOf({ environment, model }: CreateOptions): object | undefined {
  if (environment === undefined && model === undefined) return undefined;
  return { environment_id: environment, model_id: model };
}

function toMinutes(text: string): number {
  const minutes = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (minutes > 0 && minutes <= MAX_TIMEOUT_MINUTES) return minutes;
  throw new UsageError(`--timeout must be a number of minutes, up to ${MAX_TIMEOUT_MINUTES}.`);
}
