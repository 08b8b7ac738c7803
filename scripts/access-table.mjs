// `npm run docs:access`: writes docs/access.md from openapi.json and the permissions of the roles.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { renderAccessTable } from './lib/access-table.mjs';
import { ROOT } from './lib/tools.mjs';

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);
const { PERMISSIONS_OF_ROLE, ROLES_OF_CALLER } = await import('../dist/identities/domain/role.js');
const document = JSON.parse(await readFile(join(ROOT, 'openapi.json'), 'utf8'));
await writeFile(
  join(ROOT, 'docs/access.md'),
  renderAccessTable(document, PERMISSIONS_OF_ROLE, ROLES_OF_CALLER),
);
console.log('Wrote docs/access.md');
