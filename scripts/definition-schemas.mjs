// `npm run docs:schemas`: writes the JSON Schemas of the definition files, from the build, to docs/schemas.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { ROOT } from './lib/tools.mjs';

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);

const { DEFINITION_KINDS, jsonSchemaOf } = await import('../dist/automations/domain/definition-schemas.js');

const directory = join(ROOT, 'docs', 'schemas');
await mkdir(directory, { recursive: true });
for (const kind of DEFINITION_KINDS) {
  const path = join(directory, `${kind}.schema.json`);
  const options = { ...(await resolveConfig(path)), parser: 'json' };
  await writeFile(path, await format(JSON.stringify(jsonSchemaOf(kind)), options));
}
console.log(`Wrote ${DEFINITION_KINDS.length} schemas to docs/schemas`);
