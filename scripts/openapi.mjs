// `npm run openapi`: writes openapi.json from the decorators of the build. With --check it writes nothing and fails when the file is stale.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { ROOT } from './lib/tools.mjs';

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);

const { createApp } = await import('../dist/create-app.js');
const { parseConfig } = await import('../dist/config/parse-config.js');
const { createDataSource } = await import('../dist/database/data-source.js');
const { SystemClock } = await import('../dist/kernel/clock.js');
const { DatabaseUrl } = await import('../dist/kernel/persistence/database-url.js');
const { openApiDocument } = await import('../dist/openapi-document.js');

// The application is put together but never started, so nothing connects to this address.
const url = 'postgres://nobody@127.0.0.1:1/nothing';
const config = parseConfig({ LOG_LEVEL: 'error' });
const app = await createApp({
  config,
  databaseUrl: new DatabaseUrl(url),
  dataSource: createDataSource({ url }),
  encryptionKey: randomBytes(32),
  clock: new SystemClock(),
});
const path = join(ROOT, 'openapi.json');
const text = await format(JSON.stringify(openApiDocument(app)), {
  ...(await resolveConfig(path)),
  parser: 'json',
});

if (!process.argv.includes('--check')) {
  await writeFile(path, text);
  console.log('Wrote openapi.json');
} else if (text !== (await readFile(path, 'utf8').catch(() => ''))) {
  console.error('openapi.json is stale: run `npm run openapi` and commit the result.');
  process.exitCode = 1;
}
