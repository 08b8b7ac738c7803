// `npm test`: builds what is needed, lints, checks that openapi.json is current, runs every test and closes with "N passed, N failed".
// `npm test -- runs`: the tests whose path contains "runs" (any arguments of Jest), without the checks.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LINT_TOOLS } from './lint.mjs';
import { ensureBuild, ensureDependencies, ensureNode } from './lib/ensure.mjs';
import { runNode, runTools, stopWithParent } from './lib/tools.mjs';

const jestArguments = process.argv.slice(2);
/** More failing files than this are no matter of a busy machine. */
const MAX_SECOND_TRIES = 3;

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

/**
 * Files that fail in a full run are run once more by themselves, if they are few: a test that starts and kills processes depends on the
 * machine keeping up. What passes only then is named, so that it gets seen to.
 */
async function runJest() {
  const first = await runJestOnce(jestArguments);
  if (
    jestArguments.length > 0 ||
    first.failedFiles.length === 0 ||
    first.failedFiles.length > MAX_SECOND_TRIES
  )
    return first;
  console.log(`\nOnce more, by themselves: ${first.failedFiles.join(' ')}`);
  const second = await runJestOnce(['--runInBand', '--runTestsByPath', ...first.failedFiles]);
  for (const name of first.failedTests) {
    if (!second.failedTests.includes(name)) console.log(`UNSTABLE, passed at the second try: ${name}`);
  }
  return { passed: first.passedElsewhere + second.passed, failed: second.failed };
}

/**
 * Counts tests; a file that cannot be loaded, a run without any test and a failure of Jest itself count as one failed each.
 *
 * @returns {Promise<{ passed: number, failed: number, passedElsewhere: number, failedFiles: string[], failedTests: string[] }>}
 *   `passedElsewhere`: those in the files of which none failed
 */
async function runJestOnce(args) {
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
      ...args,
    ],
    { stdio: 'inherit' },
  );

  const results = readReport(report);
  const files = results?.testResults ?? [];
  const testsOf = (some, status) =>
    some.flatMap((file) => file.assertionResults.filter((test) => test.status === status));
  const failedFiles = files.filter((file) => file.status === 'failed');
  const counts = {
    passed: results?.numPassedTests ?? 0,
    failed: (results?.numFailedTests ?? 0) + (results?.numRuntimeErrorTestSuites ?? 0),
    passedElsewhere: testsOf(
      files.filter((file) => !failedFiles.includes(file)),
      'passed',
    ).length,
    failedFiles: failedFiles.map(({ name }) => name),
    failedTests: testsOf(failedFiles, 'failed').map(({ fullName }) => fullName),
  };
  if (counts.failed > 0) return counts;
  if (code !== 0) {
    console.log(`Jest failed by itself (exit code ${code}).`);
    return { ...counts, failed: 1 };
  }
  if (counts.passed === 0) {
    console.log('No test was executed.');
    return { ...counts, failed: 1 };
  }
  return counts;
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined; // Jest did not get as far as writing it.
  }
}
