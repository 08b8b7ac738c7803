// `npm test`: builds what is needed, lints, checks that openapi.json is current, runs every test and closes with "N passed, N failed".
// `npm test -- runs`: the tests whose path contains "runs" (any arguments of Jest), without the checks.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LINT_TOOLS } from './lint.mjs';
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { runNode, runTools, stopWithParent } from './lib/tools.mjs';

const jestArguments = process.argv.slice(2);

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);
stopWithParent();

const checks =
  jestArguments.length > 0
    ? { passed: 0, failed: 0 }
    : await runTools([...LINT_TOOLS, { name: 'openapi.json', args: ['scripts/openapi.mjs', '--check'] }]);
const tests = await runJest();

const passed = checks.passed + tests.passed;
const failed = checks.failed + tests.failed;
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Counts tests; a file that cannot be loaded, a run without any test and a failure of Jest itself count as one failed each. */
async function runJest() {
  const directory = mkdtempSync(join(tmpdir(), 'millwright-test-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const report = join(directory, 'jest.json');
  const { code } = await runNode(
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--json',
      `--outputFile=${report}`,
      ...jestArguments,
    ],
    { stdio: 'inherit' },
  );

  const results = readReport(report);
  const passed = results?.numPassedTests ?? 0;
  const failed = (results?.numFailedTests ?? 0) + (results?.numRuntimeErrorTestSuites ?? 0);
  if (failed > 0) return { passed, failed };
  if (code !== 0) {
    console.log(`Jest failed by itself (exit code ${code}).`);
    return { passed, failed: 1 };
  }
  if (passed === 0) {
    console.log('No test was executed.');
    return { passed, failed: 1 };
  }
  return { passed, failed };
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined; // Jest did not get as far as writing it.
  }
}
