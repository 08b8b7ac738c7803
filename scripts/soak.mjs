// `npm run test:soak`: the long form of the tests that crash, race and repeat. Takes many minutes. With arguments, of those files alone.
import { execFileSync } from 'node:child_process';
import { ROOT } from './lib/tools.mjs';

const LONG_TESTS = [
  'test/service',
  'test/run-races',
  'test/run-list',
  'test/schedule-crashes',
  'test/ingress-crash',
  'test/ingress-fuzz',
];
const named = process.argv.slice(2);

execFileSync(
  process.execPath,
  ['scripts/test.mjs', '--testTimeout=3600000', ...(named.length > 0 ? named : LONG_TESTS)],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, MILLWRIGHT_SOAK: 'true' },
  },
);
