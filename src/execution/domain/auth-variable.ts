import type { HarnessAuthSecrets, HarnessType } from '../../identities/index.js';

/** The variables in which an agent CLI looks for its credential: a secret of another name is given under the first. */
const AUTH_VARIABLES = {
  claude: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_AUTH_TOKEN',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'AWS_BEARER_TOKEN_BEDROCK',
  ],
  codex: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
} as const;

/**
 * Under which name besides its own the credential of a harness is given to its agent.
 *
 * @returns the name of the secret and the variable; undefined where its own name will do, or there is none
 */
export function authVariable(
  harness: HarnessType | undefined,
  secrets: HarnessAuthSecrets | undefined,
): { secret: string; variable: string } | undefined {
  if (harness !== 'claude' && harness !== 'codex') return undefined;
  const secret = secrets?.[`${harness}_auth_secret_name`];
  const variables: readonly string[] = AUTH_VARIABLES[harness];
  const [variable] = variables;
  if (secret === undefined || variable === undefined || variables.includes(secret)) return undefined;
  return { secret, variable };
}
