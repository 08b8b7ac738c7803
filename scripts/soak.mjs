// `npm run test:soak`: the long form of the tests that crash, race and repeat. Takes many minutes.
import { execFileSync } from 'node:child_process';
import { ROOT } from './lib/tools.mjs';

const LONG_TESTS = ['test/service', 'test/run-races', 'test/run-list', 'test/schedule-crashes'];

execFileSync(process.execPath, ['scripts/test.mjs', '--testTimeout=3600000', ...LONG_TESTS], {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, MILLWRIGHT_SOAK: 'true' },
});
