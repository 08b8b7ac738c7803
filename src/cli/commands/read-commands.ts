import type { Command } from 'commander';
import type { Agents, Environments, Me, Members, Models, Skills } from '../answers.js';
import { path } from '../api-client.js';
import { FailedError } from '../errors.js';
import type { Session } from '../session.js';
import { membersText, meText } from '../text/account-text.js';
import { agentsText, environmentsText, modelsText, skillsText } from '../text/catalog-text.js';

/** The commands that only read. */
export function addReadCommands(program: Command, session: Session): void {
  program
    .command('me')
    .description('show who you are, and your teams')
    .action(() => session.show(session.api.call<Me>('GET', '/me'), meText));

  group(program, 'team', 'the team that you act for')
    .command('members')
    .description('list its members')
    .action(async () => {
      const { body: me } = await session.api.call<Me>('GET', '/me');
      const team = me.active_team_uid;
      if (team === undefined) throw new FailedError('You act for no team: name one with --team-uid.');
      await session.show(session.api.call<Members>('GET', path`/teams/${team}/members`), membersText);
    });

  group(program, 'environment', 'where runs work')
    .command('list')
    .description('list environments')
    .action(() =>
      session.show(session.api.call<Environments>('GET', '/agent/environments'), environmentsText),
    );

  group(program, 'agent', 'agent identities')
    .command('list')
    .description('list the agent identities of the team')
    .action(() => session.show(session.api.call<Agents>('GET', '/agent/identities'), agentsText));

  group(program, 'model', 'models')
    .command('list')
    .description('list the models that runs may name')
    .action(() => session.show(session.api.call<Models>('GET', '/agent/models'), modelsText));

  group(program, 'skill', 'skills')
    .command('list')
    .description('list the skills that runs may name')
    .option('--repo <owner/repo>', 'only those of this repository')
    .option('--refresh', 'read the repositories again')
    .action(({ repo, refresh }: { repo?: string; refresh?: true }) => {
      const query = new URLSearchParams();
      if (repo !== undefined) query.set('repo', repo);
      if (refresh) query.set('refresh', 'true');
      return session.show(session.api.call<Skills>('GET', `/agent?${query.toString()}`), skillsText);
    });
}

const group = (program: Command, name: string, description: string): Command =>
  program.command(name).description(description);
