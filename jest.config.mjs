/** What both projects share: TypeScript by swc, as native ES modules, with the decorator metadata that Nest and TypeORM read. */
const typescript = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  // `./clock.js` in an import is `./clock.ts` on disk. In node_modules `./x` finds `./x.js` again: Jest tries that ending first.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
};

export default {
  projects: [
    {
      ...typescript,
      displayName: 'unit',
      roots: ['<rootDir>/src'],
      testMatch: ['**/*.spec.ts'],
      testPathIgnorePatterns: ['\\.db\\.spec\\.ts$'],
    },
    {
      ...typescript,
      displayName: 'database',
      roots: ['<rootDir>/src', '<rootDir>/test'],
      testMatch: ['**/*.db.spec.ts', '**/*.e2e-spec.ts'],
      // Starts PostgreSQL. Jest leaves it out of a run that selects no test of this project.
      globalSetup: '<rootDir>/test/support/global-setup.mjs',
      globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
    },
  ],
  testTimeout: 60_000,
  maxWorkers: 2,
  coverageProvider: 'v8',
};
