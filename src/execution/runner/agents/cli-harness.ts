import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Harness, HarnessOutcome, HarnessTurn, TurnInput } from '../harness.js';
import { agentEnvironment } from '../runner-environment.js';
import { stallMessage } from '../stall-watch.js';
import {
  type AgentCli,
  type AgentSettings,
  promptText,
  type SessionPlace,
  type StreamReader,
} from './agent-cli.js';
import { CliProcess, type CliEnd } from './cli-process.js';
import { CliTranscript } from './cli-transcript.js';
import { objectOf, parseObject } from './json-line.js';

/** Under the workspace; no repository's name begins with a dot and the project's. */
const HOMES_DIR = '.millwright';
const SUMMARY_CHARACTERS = 20_000;
const QUOTED_OUTPUT_CHARACTERS = 2_000;
const NO_COUNTERS = { total_tokens: 0 };

/**
 * Drives a command line agent, a process a turn. Only the agent's own last line can call the turn a success: an exit code says nothing
 * about the work, and some of these CLIs end with 0 when they are interrupted.
 *
 * Its settings and sessions are in the workspace, unless the worker names another place for them; the session goes on in whatever
 * workspace the conversation is continued in.
 */
export function cliHarness(cli: AgentCli, settings: AgentSettings): Harness {
  return {
    transcriptFormat: cli.transcriptFormat,

    async prepare(environment) {
      const home = homeOf(cli);
      await mkdir(home, { recursive: true });
      return cli.prepare(home, agentEnvironment(environment));
    },

    startTurn(input) {
      const transcript = new CliTranscript(input.earlier, (text) => input.mask.apply(text));
      return new CliTurn(cli, settings, input, transcript);
    },
  };
}

function homeOf(cli: AgentCli): string {
  return agentEnvironment({})[cli.homeVariable] ?? join(process.cwd(), HOMES_DIR, cli.command);
}

class CliTurn implements HarnessTurn {
  readonly outcome: Promise<HarnessOutcome>;
  readonly tell: HarnessTurn['tell'];
  private readonly reader: StreamReader;
  private process: CliProcess | undefined;
  private messagesSent = 0;

  constructor(
    private readonly cli: AgentCli,
    private readonly settings: AgentSettings,
    private readonly input: TurnInput,
    readonly transcript: CliTranscript,
  ) {
    this.reader = cli.startReader(transcript.earlierSession?.counters ?? NO_COUNTERS);
    if (cli.takesMessages) this.tell = (message) => this.send(cli.message(message));
    this.outcome = this.perform();
  }

  get usage(): HarnessTurn['usage'] {
    return this.reader.usage;
  }

  private async perform(): Promise<HarnessOutcome> {
    const { cli, input, reader, transcript } = this;
    const place = { home: homeOf(cli), cwd: process.cwd() };
    const { earlierSession } = transcript;
    const sessionId = earlierSession?.session_id ?? randomUUID();
    await this.restore({ ...place, sessionId });
    transcript.session = async () => {
      const current = { ...place, sessionId: reader.sessionId ?? sessionId };
      const envelope = await cli.saveSession(current);
      if (envelope === undefined) return earlierSession;
      return {
        type: 'millwright.session',
        session_id: current.sessionId,
        counters: reader.counters,
        envelope,
      };
    };
    transcript.turnStarted(promptText(input.prompt, { withSystemPrompt: false }));

    const resumes = earlierSession !== undefined;
    const launch = await cli.launch({
      ...place,
      ...this.settings,
      sessionId,
      resumes,
      prompt: input.prompt,
    });
    this.process = new CliProcess(
      {
        command: cli.command,
        arguments: launch.arguments,
        environment: agentEnvironment(input.environment),
        stallMinutes: input.stallMinutes,
      },
      { line: (line) => this.readLine(line), overlong: (bytes) => transcript.dropped(bytes) },
    );
    this.send(launch.input);
    if (!cli.takesMessages) this.process.endInput();
    return this.outcomeOf(await this.process.ended);
  }

  private async restore(place: SessionPlace): Promise<void> {
    const session = this.transcript.earlierSession;
    // The files of an earlier turn of this execution are better: nothing of them is masked.
    if (session === undefined || (await this.cli.saveSession(place)) !== undefined) return;
    await this.cli.restoreSession(place, objectOf(session.envelope));
  }

  private readLine(line: Buffer): void {
    this.transcript.line(line);
    const parsed = parseObject(line.toString('utf8'));
    if (parsed === undefined) return;
    this.reader.read(parsed);
    // A message that came later and that it has not taken yet leads to another result.
    const isLast = this.messagesSent <= 1 || this.reader.messagesTaken >= this.messagesSent;
    if (this.reader.result !== undefined && isLast) this.process?.leave();
  }

  private send(text: string): boolean {
    if (this.process?.write(text) !== true) return false;
    this.messagesSent += 1;
    return true;
  }

  private outcomeOf(end: CliEnd): HarnessOutcome {
    const { cli, reader, input, transcript } = this;
    const errored = (
      category: 'integration_not_configured' | 'agent_process_failed',
      text: string,
    ): HarnessOutcome => {
      const message = input.mask.apply(text);
      transcript.turnAborted(message);
      return { kind: 'errored', category, message };
    };
    switch (end.kind) {
      case 'not_found':
        return errored(
          'integration_not_configured',
          `The machine of this worker has no "${cli.command}" in its PATH. Install it there (${cli.installation}), let a set-up ` +
            'command of the environment do it, or send the run to a worker that has it.',
        );
      case 'stalled':
        return errored('agent_process_failed', stallMessage(cli.command, input.stallMinutes));
      case 'exited': {
        if (reader.result !== undefined) {
          const summary = input.mask.apply(reader.result.summary).slice(0, SUMMARY_CHARACTERS);
          return { kind: 'finished', success: reader.result.success, summary };
        }
        const words = [reader.complaint, end.lastWords.slice(-QUOTED_OUTPUT_CHARACTERS)]
          .filter(Boolean)
          .join('\n');
        const ended = `${cli.command} ended with exit code ${end.exitCode} and without a result`;
        return errored('agent_process_failed', words === '' ? ended : `${ended}: ${words}`);
      }
    }
  }
}
