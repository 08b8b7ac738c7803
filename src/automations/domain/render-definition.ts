import { stringify } from 'yaml';
import type { AgentFile, AutomationFile, FactoryFile, ScorerFile, WebhookFile } from './definition.js';
import { FACTORY_FILE } from './parse-definition.js';

/** What a factory is, in the shape of its files. */
export interface DefinitionContent {
  factory: FactoryFile;
  webhooks: WebhookFile[];
  automations: AutomationFile[];
  agents: AgentFile[];
  scorers: ScorerFile[];
}

/** The files that define a factory: parsed again they say the same. Defaults are left out. @returns text by path */
export function renderDefinition({
  factory,
  webhooks,
  automations,
  agents,
  scorers,
}: DefinitionContent): Record<string, string> {
  return Object.fromEntries([
    [FACTORY_FILE, yaml(factory)],
    ...webhooks.map(({ name, authMode, enabled, ...rest }) => [
      `webhooks/${name}.yaml`,
      yaml({
        authMode: authMode === 'token' ? undefined : authMode,
        ...rest,
        enabled: enabled ? undefined : false,
      }),
    ]),
    ...automations.map(({ name, prompt, enabled, ...rest }) => [
      `automations/${name}/automation.md`,
      markdown({ enabled: enabled ? undefined : false, ...rest }, prompt),
    ]),
    ...agents.map(({ name, prompt, secrets, skills, ...rest }) => [
      `agents/${name}/agent.md`,
      markdown({ ...rest, secrets: orNothing(secrets), skills: orNothing(skills) }, prompt),
    ]),
    ...scorers.map(({ name, prompt, ...rest }) => [`scorers/${name}/scorer.md`, markdown(rest, prompt)]),
  ]) as Record<string, string>;
}

function yaml(fields: object): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.length === 0 ? '' : stringify(Object.fromEntries(given), { lineWidth: 0 });
}

const markdown = (fields: object, prompt: string): string => `---\n${yaml(fields)}---\n\n${prompt}\n`;

const orNothing = (list: string[]): string[] | undefined => (list.length === 0 ? undefined : list);
