import { Command, Option } from 'commander';
import { addApiKeyCommands } from './commands/api-key-commands.js';
import { addDefinitionCommands } from './commands/definition-commands.js';
import { addReadCommands } from './commands/read-commands.js';
import { addRunCommands } from './commands/run-commands.js';
import { addSecretCommands } from './commands/secret-commands.js';
import { addStorageCommands } from './commands/storage-commands.js';
import { Session } from './session.js';
import type { Terminal } from './terminal.js';

/** All commands. It throws where commander by itself would end the process. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('millwright')
    .description('The command line client of Millwright.')
    .option('--team-uid <uid>', 'the team to act for, where you have more than one')
    .addOption(
      new Option('--output <format>', "text for people, or json: the API's answer as it is")
        .choices(['json', 'text'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
Environment:
  MILLWRIGHT_URL      where Millwright answers (default: http://127.0.0.1:8080)
  MILLWRIGHT_API_KEY  your API key

Exit codes: 0 done, 1 refused or not achieved, 2 wrong use, 3 no answer, 130 interrupted`,
    )
    .showHelpAfterError('(--help tells more)')
    .exitOverride();
  const session = new Session(program, terminal);
  addRunCommands(program, session);
  addReadCommands(program, session);
  addSecretCommands(program, session);
  addApiKeyCommands(program, session);
  addDefinitionCommands(program, session);
  addStorageCommands(program, session);
  return program;
}
