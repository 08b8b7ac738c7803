import type { Command } from 'commander';
import type { Secret, Secrets } from '../answers.js';
import { path } from '../api-client.js';
import { readSecretValue } from '../secret-value.js';
import type { Session } from '../session.js';
import { secretsText, secretText } from '../text/account-text.js';

interface OwnerOption {
  /** Undefined = as the service decides: the team's where you have exactly one. */
  team?: boolean;
}

const OWNER_HELP = "the team's secret; by default it is where you have exactly one team";

export function addSecretCommands(program: Command, session: Session): void {
  const secret = program
    .command('secret')
    .description('secrets of runs; a value is asked for, or read from standard input');
  const command = (nameAndArguments: string): Command =>
    secret.command(nameAndArguments).option('--team', OWNER_HELP).option('--no-team', 'your own secret');

  command('create <name>')
    .description('keep a secret')
    .action(async (name: string, { team }: OwnerOption) => {
      const { api, terminal } = session; // nobody types a value only to learn that there is no key
      const value = await readSecretValue(terminal, { twice: true });
      await session.show(await api.call<Secret>('POST', '/secrets', { name, value, team }), secretText);
    });

  command('update <name>')
    .description('give a secret a new value')
    .action(async (name: string, { team }: OwnerOption) => {
      const { api, terminal } = session;
      const route = path`/secrets/${name}`;
      const value = await readSecretValue(terminal, { twice: false });
      await session.show(await api.call<Secret>('PUT', route, { value, team }), secretText);
    });

  secret
    .command('list')
    .description('list the names of secrets')
    .action(() => session.show(session.api.call<Secrets>('GET', '/secrets'), secretsText));

  command('delete <name>')
    .description('delete a secret')
    .action((name: string, { team }: OwnerOption) => {
      const query = team === undefined ? '' : `?team=${team}`;
      return session.show(
        session.api.call('DELETE', path`/secrets/${name}` + query),
        () => `${name} is deleted`,
      );
    });
}
