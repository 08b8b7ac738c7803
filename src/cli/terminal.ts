import { buffer } from 'node:stream/consumers';
import { InterruptedError, UsageError } from './errors.js';

/** What a command says and hears. Standard output holds what was asked for and nothing else. */
export abstract class Terminal {
  /** Writes a line, or more than one, to standard output. */
  abstract show(lines: string): void;
  /** Writes a line for people to standard error. */
  abstract say(line: string): void;
  /** True when standard input is a person's. */
  abstract readonly isInteractive: boolean;
  /** Asks a person for one line that is not displayed. */
  abstract askHidden(message: string): Promise<string>;
  /** All of standard input, as UTF-8. */
  abstract readInput(): Promise<string>;
}

/** The terminal, or the pipes, that this process was started with. */
export class ProcessTerminal extends Terminal {
  readonly isInteractive = process.stdin.isTTY;

  show(lines: string): void {
    process.stdout.write(`${lines}\n`);
  }

  say(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  async askHidden(message: string): Promise<string> {
    const { default: password } = await import('@inquirer/password');
    try {
      return await password({ message }, { output: process.stderr });
    } catch (error) {
      if (error instanceof Error && error.name === 'ExitPromptError') {
        throw new InterruptedError('Nothing was changed.');
      }
      throw error;
    }
  }

  async readInput(): Promise<string> {
    const input = await buffer(process.stdin);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(input);
    } catch (cause) {
      throw new UsageError('Standard input is not UTF-8 text.', { cause });
    }
  }
}
