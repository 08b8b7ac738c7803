import type { Command } from 'commander';
import { readCliEnvironment } from '../config/cli-environment.js';
import { type Answer, ApiClient } from './api-client.js';
import type { Terminal } from './terminal.js';

/** The options that every command takes. */
interface GlobalOptions {
  teamUid?: string;
  output: 'json' | 'text';
}

/** What the commands share: the API as the caller, and the way to show its answers. */
export class Session {
  private client: ApiClient | undefined;

  constructor(
    private readonly program: Command,
    readonly terminal: Terminal,
  ) {}

  /**
   * Made when the first command asks for it, so that help needs no key.
   *
   * @throws CliEnvironmentError or UsageError when it cannot be made
   */
  get api(): ApiClient {
    return (this.client ??= new ApiClient(readCliEnvironment(), this.options.teamUid));
  }

  /** Shows what the API answers: as it is, or as the text that is made of it. */
  async show<T>(answer: Answer<T> | Promise<Answer<T>>, toText: (body: T) => string): Promise<void> {
    const { text, body } = await answer;
    const shown = this.options.output === 'json' ? text : toText(body);
    if (shown !== '') this.terminal.show(shown);
  }

  /** Says something to people; programs that read JSON are not told. */
  remark(line: string): void {
    if (this.options.output === 'text') this.terminal.say(line);
  }

  private get options(): GlobalOptions {
    return this.program.opts<GlobalOptions>();
  }
}
