// `npm run lint`: every check that needs no database. Prints one line a tool, and the whole output of a tool that failed.
import { realpathSync } from 'node:fs';
import { ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { runTools, stopWithParent } from './lib/tools.mjs';

const CACHE = 'node_modules/.cache';

/** The slowest first: two run at a time. */
export const LINT_TOOLS = [
  {
    // Without its cache: that one knows a file by its content alone, and says "fine" to a file whose imported types have changed.
    name: 'eslint',
    args: ['node_modules/eslint/bin/eslint.js', '.', '--max-warnings', '0'],
  },
  {
    name: 'tsc',
    args: ['node_modules/typescript/bin/tsc', '--project', 'test/tsconfig.json'],
  },
  {
    name: 'prettier',
    args: [
      'node_modules/prettier/bin/prettier.cjs',
      '--check',
      '.',
      '--cache',
      '--cache-strategy=content',
      `--cache-location=${CACHE}/prettier/state`,
    ],
  },
  {
    name: 'depcruise',
    args: [
      'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
      'src',
      'test',
      '--output-type',
      'err-long',
    ],
  },
  {
    name: 'redocly',
    args: ['node_modules/@redocly/cli/bin/cli.js', 'lint', 'openapi.json'],
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  },
];

if (realpathSync(process.argv[1]) === import.meta.filename) {
  ensureNode();
  await ensureDependencies(console.log);
  stopWithParent();
  const { failed } = await runTools(LINT_TOOLS);
  process.exit(failed === 0 ? 0 : 1);
}
