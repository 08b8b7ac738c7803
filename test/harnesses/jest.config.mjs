import config from '../../jest.config.mjs';

/** The tests that need the real agent CLIs, which `npm run test:harnesses` installs. */
const [, database] = config.projects;
export default {
  ...config,
  rootDir: '../..',
  projects: [
    {
      ...database,
      rootDir: new URL('../..', import.meta.url).pathname,
      displayName: 'harnesses',
      roots: ['<rootDir>/test/harnesses'],
      testMatch: ['**/*.harness-spec.ts'],
    },
  ],
};
