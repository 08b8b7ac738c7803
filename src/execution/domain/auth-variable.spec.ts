import { describe, expect, it } from '@jest/globals';
import { authVariable } from './auth-variable.js';

const SECRETS = { claude_auth_secret_name: 'TEAM_CLAUDE', codex_auth_secret_name: 'OPENAI_API_KEY' };

describe('authVariable', () => {
  it('is the variable that the agent looks for', () => {
    expect(authVariable('claude', SECRETS)).toEqual({ secret: 'TEAM_CLAUDE', variable: 'ANTHROPIC_API_KEY' });
  });

  it.each([
    ['a name that the agent knows', 'codex', SECRETS],
    ['another harness', 'gemini', SECRETS],
    ['the built-in harness', undefined, SECRETS],
    ['no secret', 'claude', undefined],
  ] as const)('is not needed for %s', (_, harness, secrets) => {
    expect(authVariable(harness, secrets)).toBeUndefined();
  });
});
