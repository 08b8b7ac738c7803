import type { ApiKey, ApiKeys, CreatedApiKey, Me, Members, Principal, Secret, Secrets } from '../answers.js';
import { fields, table } from './layout.js';

/** The name of a person or an agent identity, and the address where there is one. */
export function personText({ display_name: name, email, uid }: Principal): string {
  if (!name) return email ?? uid ?? '';
  return email ? `${name} <${email}>` : name;
}

/** Who calls, then a line for each team; the active one is marked. */
export const meText = (me: Me): string =>
  [
    fields({ [me.principal.type ?? 'user']: personText(me.principal), uid: me.principal.uid }),
    table(
      ['', 'TEAM', 'NAME', 'ROLE', 'PERMISSIONS'],
      me.teams.map((team) => [
        team.uid === me.active_team_uid ? '*' : '',
        team.uid,
        team.name,
        team.role,
        team.permissions.join(', '),
      ]),
    ),
  ].join('\n\n');

export const membersText = ({ members }: Members): string =>
  table(
    ['USER', 'NAME', 'ROLE', 'PERMISSIONS'],
    members.map((member) => [
      member.user.uid,
      personText(member.user),
      member.role,
      member.permissions.join(', '),
    ]),
  );

/** The key is in it: the service shows it this once. */
export const createdApiKeyText = (apiKey: CreatedApiKey): string =>
  [
    fields({
      uid: apiKey.uid,
      name: apiKey.name,
      owner: personText(apiKey.owner),
      expires: apiKey.expires_at ?? 'never',
      key: apiKey.key,
    }),
    'Keep the key: it is not shown again.',
  ].join('\n');

export const apiKeysText = ({ api_keys: apiKeys }: ApiKeys): string =>
  table(
    ['UID', 'KEY', 'OWNER', 'EXPIRES', 'LAST USED', 'NAME'],
    apiKeys.map((apiKey) => [
      apiKey.uid,
      abbreviated(apiKey),
      personText(apiKey.owner),
      apiKey.expires_at ?? 'never',
      apiKey.last_used_at ?? 'never',
      apiKey.name,
    ]),
  );

const abbreviated = ({ prefix, last_four: lastFour }: ApiKey): string => `${prefix}…${lastFour}`;

export const secretText = (secret: Secret): string =>
  fields({
    secret: secret.name,
    owner: ownerOf(secret),
    created: secret.created_at,
    updated: secret.updated_at,
  });

export const secretsText = ({ secrets }: Secrets): string =>
  table(
    ['NAME', 'OWNER', 'UPDATED'],
    secrets.map((secret) => [secret.name, ownerOf(secret), secret.updated_at]),
  );

const ownerOf = ({ scope }: Secret): string => (scope.type === 'Team' ? 'team' : 'you');
