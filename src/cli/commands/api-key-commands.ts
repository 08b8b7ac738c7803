import type { Command } from 'commander';
import type { ApiKeys, CreatedApiKey } from '../answers.js';
import { path } from '../api-client.js';
import type { Session } from '../session.js';
import { apiKeysText, createdApiKeyText } from '../text/account-text.js';

interface CreateOptions {
  name: string;
  expiresAt?: string;
  agent?: string;
}

export function addApiKeyCommands(program: Command, session: Session): void {
  const apiKey = program
    .command('api-key')
    .description("your keys and those of your team's agent identities");

  apiKey
    .command('create')
    .description('make a key; it is shown this once')
    .requiredOption('--name <name>', 'what to tell it from others by')
    .option('--expires-at <time>', 'when it stops working, such as 2036-11-21T09:30:00Z; by default never')
    .option('--agent <uid>', 'make it a key of this agent identity rather than yours')
    .action((options: CreateOptions) =>
      session.show(
        session.api.call<CreatedApiKey>('POST', '/api-keys', {
          name: options.name,
          expires_at: options.expiresAt,
          agent_uid: options.agent,
        }),
        createdApiKeyText,
      ),
    );

  apiKey
    .command('list')
    .description('list keys, each by its beginning and its end')
    .action(() => session.show(session.api.call<ApiKeys>('GET', '/api-keys'), apiKeysText));

  apiKey
    .command('revoke <uid>')
    .description('make a key stop working at once')
    .action((uid: string) =>
      session.show(session.api.call('DELETE', path`/api-keys/${uid}`), () => `${uid} is revoked`),
    );
}
