import type { Agents, Environments, Models, Skills } from '../answers.js';
import { oneLine, table } from './layout.js';

const DESCRIPTION_CHARACTERS = 80;

export const environmentsText = ({ environments }: Environments): string =>
  table(
    ['UID', 'NAME', 'SETUP', 'UPDATED', 'REPOSITORIES'],
    environments.map(({ uid, config, setup_failed: setupFailed, last_updated: updated }) => [
      uid,
      config.name,
      setupFailed ? 'failed' : 'ok',
      updated,
      config.github_repos?.map(({ owner, repo }) => `${owner}/${repo}`).join(', '),
    ]),
  );

export const agentsText = ({ agents }: Agents): string =>
  table(
    ['UID', 'NAME', 'AVAILABLE', 'MODEL', 'ENVIRONMENT'],
    agents.map((agent) => [
      agent.uid,
      agent.name,
      agent.available ? 'yes' : 'no',
      agent.base_model,
      agent.environment_id,
    ]),
  );

export const modelsText = ({ models, default_model_id: defaultId }: Models): string =>
  table(
    ['MODEL', 'NAME', 'PROVIDER', 'STATUS'],
    models.map((model) => [
      model.id,
      model.display_name,
      model.provider,
      model.disable_reason ?? (model.id === defaultId ? 'default' : 'available'),
    ]),
  );

export const skillsText = ({ agents }: Skills): string =>
  table(
    ['SKILL', 'ID', 'DESCRIPTION'],
    agents.flatMap(({ name, variants }) =>
      variants.map(({ id, description }) => [name, id, oneLine(description, DESCRIPTION_CHARACTERS)]),
    ),
  );
